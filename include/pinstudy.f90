! Marks the regions of a Fortran program that pinstudy measures one by one (docs/regions.md):
!
!     use pinstudy
!     call pinstudy_begin("solve")
!     ...
!     call pinstudy_end("solve")
!
! Compile this file with the program; it says to pinstudy what pinstudy.h says for C. Without
! pinstudy a mark does nothing. Mark regions outside parallel ones.
!
! SPDX-License-Identifier: BSD-3-Clause
module pinstudy
   use, intrinsic :: iso_c_binding
   implicit none
   private
   public :: pinstudy_begin, pinstudy_end

   type, bind(c) :: timespec
      integer(c_long) :: seconds, nanoseconds
   end type timespec

   interface
      function c_getenv(name) bind(c, name="getenv") result(value)
         import :: c_char, c_ptr
         character(kind=c_char), intent(in) :: name(*)
         type(c_ptr) :: value
      end function c_getenv
      function c_atoi(text) bind(c, name="atoi") result(value)
         import :: c_ptr, c_int
         type(c_ptr), value :: text
         integer(c_int) :: value
      end function c_atoi
      function c_unsetenv(name) bind(c, name="unsetenv") result(status)
         import :: c_char, c_int
         character(kind=c_char), intent(in) :: name(*)
         integer(c_int) :: status
      end function c_unsetenv
      function c_getpid() bind(c, name="getpid") result(process)
         import :: c_int
         integer(c_int) :: process
      end function c_getpid
      function c_gettid() bind(c, name="gettid") result(thread)
         import :: c_int
         integer(c_int) :: thread
      end function c_gettid
      function c_clock_gettime(clock, now) bind(c, name="clock_gettime") result(status)
         import :: c_int, timespec
         integer(c_int), value :: clock
         type(timespec), intent(out) :: now
         integer(c_int) :: status
      end function c_clock_gettime
      function c_send(descriptor, text, size, flags) bind(c, name="send") result(sent)
         import :: c_int, c_char, c_size_t
         integer(c_int), value :: descriptor, flags
         character(kind=c_char), intent(in) :: text(*)
         integer(c_size_t), value :: size
         integer(c_size_t) :: sent
      end function c_send
      function c_recv(descriptor, text, size, flags) bind(c, name="recv") result(got)
         import :: c_int, c_char, c_size_t
         integer(c_int), value :: descriptor, flags
         character(kind=c_char), intent(out) :: text(*)
         integer(c_size_t), value :: size
         integer(c_size_t) :: got
      end function c_recv
   end interface

   ! Linux's numbers (clock_gettime(2), send(2)).
   integer(c_int), parameter :: clock_monotonic = 1, msg_nosignal = 16384
   integer, parameter :: most = 256
   character(*), parameter :: variable = "PINSTUDY_REGIONS"//c_null_char

   logical :: asked = .false.
   integer(c_int) :: descriptor = -1, process = 0
   integer(c_long_long) :: answered_ns = 0

contains

   subroutine pinstudy_begin(region)
      character(*), intent(in) :: region
      call mark("b", region)
   end subroutine pinstudy_begin

   subroutine pinstudy_end(region)
      character(*), intent(in) :: region
      call mark("e", region)
   end subroutine pinstudy_end

   subroutine mark(what, region)
      character(1), intent(in) :: what
      character(*), intent(in) :: region
      type(c_ptr) :: text
      integer(c_int) :: ignored
      if (.not. asked) then
         asked = .true.
         process = c_getpid()
         text = c_getenv(variable)
         if (c_associated(text)) descriptor = c_atoi(text)
         ignored = c_unsetenv(variable)
      end if
      if (descriptor >= 0) call tell(merge(what, "w", may_mark()), region)
   end subroutine mark

   subroutine tell(what, region)
      use, intrinsic :: iso_fortran_env, only: error_unit
      character(1), intent(in) :: what
      character(*), intent(in) :: region
      character(most) :: text
      integer(c_size_t) :: size, got
      write (text, '(a, 1x, i0, 1x, i0, 1x, a)') what, answered_ns, now_ns(), region
      size = len_trim(text)
      if (c_send(descriptor, text, size, msg_nosignal) /= size .or. what == "w") return
      got = c_recv(descriptor, text, int(most, c_size_t), 0_c_int)
      if (got <= 0) then
         descriptor = -1
      else if (text(1:1) /= "k") then
         write (error_unit, '(4a)') "pinstudy: region ", region, ": ", text(1:got)
      end if
      answered_ns = now_ns()
   end subroutine tell

   logical function may_mark()
!$    use omp_lib, only: omp_in_parallel
      may_mark = c_getpid() == process .and. c_gettid() == process
!$    may_mark = may_mark .and. .not. omp_in_parallel()
   end function may_mark

   integer(c_long_long) function now_ns()
      type(timespec) :: now
      integer(c_int) :: ignored
      ignored = c_clock_gettime(clock_monotonic, now)
      now_ns = int(now%seconds, c_long_long)*1000000000_c_long_long + now%nanoseconds
   end function now_ns

end module pinstudy
