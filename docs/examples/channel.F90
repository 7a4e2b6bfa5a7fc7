! SPDX-License-Identifier: MIT
! Flow in a channel: explicit steps of the two-dimensional Burgers equations.
! With -DSWAPPED the inner loop goes along a column, as Fortran stores arrays.
program channel
  implicit none
  integer, parameter :: n = 1500, steps = 20
  real(8), parameter :: dt = 1d-4, nu = 1d-2, h = 1d0 / n
  real(8), allocatable :: u(:, :), v(:, :), u2(:, :), v2(:, :)
  integer :: i, j, t
  allocate (u(n, n), v(n, n), u2(n, n), v2(n, n))
  do j = 1, n
    do i = 1, n
      u(i, j) = sin(3d0 * i * h) * (1d0 - j * h)
      v(i, j) = 0.1d0 * cos(2d0 * j * h)
    end do
  end do
  u2 = u
  v2 = v
  do t = 1, steps
    call step(u, v, u2, v2)
    call step(u2, v2, u, v)
  end do
  print '(2es16.8)', sum(u) / n**2, sum(v) / n**2
contains
  subroutine step(u, v, u2, v2)
    real(8), intent(in) :: u(n, n), v(n, n)
    real(8), intent(out) :: u2(n, n), v2(n, n)
#ifdef SWAPPED
    do j = 2, n - 1
      do i = 2, n - 1
#else
    do i = 2, n - 1
      do j = 2, n - 1
#endif
        u2(i, j) = u(i, j) + dt * (nu * (u(i+1, j) + u(i-1, j) + u(i, j+1) + u(i, j-1) - 4d0 * u(i, j)) &
                   - u(i, j) * (u(i+1, j) - u(i-1, j)) - v(i, j) * (u(i, j+1) - u(i, j-1)))
        v2(i, j) = v(i, j) + dt * (nu * (v(i+1, j) + v(i-1, j) + v(i, j+1) + v(i, j-1) - 4d0 * v(i, j)) &
                   - u(i, j) * (v(i+1, j) - v(i-1, j)) - v(i, j) * (v(i, j+1) - v(i, j-1)))
      end do
    end do
  end subroutine step
end program channel
