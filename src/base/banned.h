/*
 * Banned functions: each has a safer form in this project. The build includes
 * this header before every source file; a call of one of them is a compile error.
 */
#pragma once

/* The headers that declare them come first, so that only calls of this project are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat sprintf vsprintf strtok gets atoi atol atof localtime gmtime asctime ctime
