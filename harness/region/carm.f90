! SPDX-License-Identifier: MIT
! Regions in Fortran: carm.h as a module. Compile this file with your program; it is standard Fortran 2008.
module carm
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char
  implicit none
  private
  public :: carm_begin, carm_end, carm_flush
  public :: carm_region_begin, carm_region_end, carm_region_flush

  ! The functions of carm.h. A name ends in c_null_char.
  interface
    function carm_region_begin(name) bind(c) result(rc)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: rc
    end function
    function carm_region_end(name) bind(c) result(rc)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: rc
    end function
    function carm_region_flush() bind(c) result(rc)
      import :: c_int
      integer(c_int) :: rc
    end function
  end interface

contains

  ! Begins a region. Blanks at the end of the name do not count. rc: 0, or -1 when the call was ignored
  ! (carm.h says when).
  subroutine carm_begin(name, rc)
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: rc
    integer(c_int) :: status
    status = carm_region_begin(trim(name) // c_null_char)
    if (present(rc)) rc = int(status)
  end subroutine

  ! Ends the region of that name.
  subroutine carm_end(name, rc)
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: rc
    integer(c_int) :: status
    status = carm_region_end(trim(name) // c_null_char)
    if (present(rc)) rc = int(status)
  end subroutine

  ! Writes the rows of all calls that have ended so far. rc: 0, or -1 when they could not be written.
  subroutine carm_flush(rc)
    integer, intent(out), optional :: rc
    integer(c_int) :: status
    status = carm_region_flush()
    if (present(rc)) rc = int(status)
  end subroutine
end module
