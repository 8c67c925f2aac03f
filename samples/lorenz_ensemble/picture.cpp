// samples/lorenz_ensemble/picture.cpp -- writes a CSV file and hands it to gnuplot.
#include "picture.h"

#include <gnomon/gnomon.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

void write_csv(const std::string& path, const std::vector<float>& rho, const std::vector<float>& x,
               const std::vector<float>& y, const std::vector<float>& z,
               const std::vector<std::int32_t>& tried) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"),
                                                             &std::fclose);
  if (!file) throw gnomon::FileError("lorenz_ensemble: cannot write " + path);
  std::fprintf(file.get(), "rho,x,y,z,tried_steps\n");
  for (std::size_t i = 0; i < rho.size(); ++i)
    std::fprintf(file.get(), "%.6f,%.6f,%.6f,%.6f,%d\n", rho[i], x[i], y[i], z[i], tried[i]);
}

bool draw(const std::string& csv, const std::string& png) {
  if (std::system("command -v gnuplot > /dev/null 2>&1") != 0) return false;
  std::FILE* plot = popen("gnuplot > /dev/null 2>&1", "w");
  if (!plot) return false;
  std::fprintf(plot,
               "set terminal pngcairo size 1400,900 font 'sans,11'\n"
               "set output '%s'\n"
               "set datafile separator ','\n"
               "set multiplot layout 2,1 title 'Lorenz systems at t = 1, one dot per system'\n"
               "set key off\nset xrange [0:28]\nset xlabel 'rho'\n"
               "set palette rgbformulae 33,13,10\nset cblabel 'z'\nset ylabel 'x'\n"
               "plot '%s' every ::1 using 1:2:4 with points pt 7 ps 0.2 palette\n"
               "unset colorbox\nset ylabel 'steps tried by Dopri5 to t = 2'\n"
               "plot '%s' every ::1 using 1:5 with points pt 7 ps 0.2 lc rgb '#20609f'\n"
               "unset multiplot\n",
               png.c_str(), csv.c_str(), csv.c_str());
  return pclose(plot) == 0;
}
