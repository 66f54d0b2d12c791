/*
 * Functions that have a safer form here. Included by the build before every
 * source file of the project; calling one of them is a compile error.
 */
#pragma once

/* The headers that declare them come first, so that only our calls are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat sprintf vsprintf strtok gets atoi atol atof localtime gmtime asctime ctime
