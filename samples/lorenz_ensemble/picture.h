// samples/lorenz_ensemble/picture.h -- the ensemble as a table and as a picture (drawn by gnuplot).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

/// rho, x, y, z and tried steps, one line per system. Throws gnomon::FileError.
void write_csv(const std::string& path, const std::vector<float>& rho, const std::vector<float>& x,
               const std::vector<float>& y, const std::vector<float>& z,
               const std::vector<std::int32_t>& tried);

/// Draws the final states over rho. False when gnuplot is not there or fails.
bool draw(const std::string& csv, const std::string& png);
