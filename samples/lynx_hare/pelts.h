// samples/lynx_hare/pelts.h -- what the Hudson's Bay Company counted, in thousands of pelts.
// Source: E. Odum, Fundamentals of Ecology, 1953, from the company's records of 1900 to 1920.
#pragma once
#include <vector>

inline const std::vector<float> hares{30,   47.2, 70.2, 77.4, 36.3, 20.6, 18.1,
                                      21.4, 22,   25.4, 27.1, 40.3, 57,   76.6,
                                      52.3, 19.5, 11.2, 7.6,  14.6, 16.2, 24.7};
inline const std::vector<float> lynxes{4, 6.1,  9.8,  35.2, 59.4, 41.7, 19,   13,  8.3,  9.1, 7.4,
                                       8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6};
