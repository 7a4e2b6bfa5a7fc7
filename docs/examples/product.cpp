// SPDX-License-Identifier: MIT
// A product of matrices with Eigen, as a user compiles it.
#include <Eigen/Dense>
#include <cstdio>

int main()
{
    const int n = 600;
    Eigen::MatrixXd a = Eigen::MatrixXd::Random(n, n), b = Eigen::MatrixXd::Random(n, n);
    Eigen::MatrixXd c = Eigen::MatrixXd::Zero(n, n);
    for (int i = 0; i < 25; i++) {
        c.noalias() += a * b;
    }
    std::printf("%.6g\n", c.sum());
}
