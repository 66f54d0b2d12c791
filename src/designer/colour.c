#include "designer/colour.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEARCH_STEPS = 14, GAMUT_STEPS = 12, CHANNEL_MAX = 255 };

static const double gamut_slack = 0.0005; /* less than half a step of a channel */

struct rgb {
    double red; /* linear light, 0 to 1 */
    double green;
    double blue;
};

/* ---- sRGB (IEC 61966-2-1) ---- */

static double to_linear(double channel)
{
    return channel <= 0.04045 ? channel / 12.92 : pow((channel + 0.055) / 1.055, 2.4);
}

static double from_linear(double light)
{
    double bounded = fmin(fmax(light, 0), 1);
    return bounded <= 0.0031308 ? bounded * 12.92 : 1.055 * pow(bounded, 1 / 2.4) - 0.055;
}

static bool is_shown(struct rgb rgb)
{
    double least = fmin(rgb.red, fmin(rgb.green, rgb.blue));
    double most = fmax(rgb.red, fmax(rgb.green, rgb.blue));
    return least >= -gamut_slack && most <= 1 + gamut_slack;
}

static double luminance(struct rgb rgb)
{
    return 0.2126 * rgb.red + 0.7152 * rgb.green + 0.0722 * rgb.blue;
}

/* ---- OKLab (Björn Ottosson, 2020) ---- */

static struct colour from_rgb(struct rgb rgb)
{
    double l = cbrt(0.4122214708 * rgb.red + 0.5363325363 * rgb.green + 0.0514459929 * rgb.blue);
    double m = cbrt(0.2119034982 * rgb.red + 0.6806995451 * rgb.green + 0.1073969566 * rgb.blue);
    double s = cbrt(0.0883024619 * rgb.red + 0.2817188376 * rgb.green + 0.6299787005 * rgb.blue);
    double a = 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s;
    double b = 0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s;
    return (struct colour){
        .lightness = 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
        .chroma = hypot(a, b),
        .hue = atan2(b, a),
    };
}

static struct rgb to_rgb(struct colour colour)
{
    double a = colour.chroma * cos(colour.hue);
    double b = colour.chroma * sin(colour.hue);
    double l = pow(colour.lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    double m = pow(colour.lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    double s = pow(colour.lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
    return (struct rgb){
        .red = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        .green = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        .blue = -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
    };
}

/* The same lightness and hue, with the most chroma up to its own that sRGB shows. */
static struct rgb to_shown_rgb(struct colour colour)
{
    struct rgb rgb = to_rgb(colour);
    double least = 0;
    double most = colour.chroma;
    if (is_shown(rgb))
        return rgb;
    for (int i = 0; i < GAMUT_STEPS; i++) {
        colour.chroma = (least + most) / 2;
        if (is_shown(to_rgb(colour)))
            least = colour.chroma;
        else
            most = colour.chroma;
    }
    colour.chroma = least;
    return to_rgb(colour);
}

/* ---- Texts ---- */

static double channel_at(const char *text)
{
    const char digits[] = { text[0], text[1], '\0' };
    return (double)strtol(digits, NULL, 16) / CHANNEL_MAX;
}

bool colour_read(const char *text, struct colour *ret_colour)
{
    if (text == NULL || text[0] != '#' || strlen(text) != COLOUR_CHARS ||
        strspn(text + 1, "0123456789abcdefABCDEF") != COLOUR_CHARS - 1)
        return false;
    *ret_colour = from_rgb((struct rgb){
        .red = to_linear(channel_at(text + 1)),
        .green = to_linear(channel_at(text + 3)),
        .blue = to_linear(channel_at(text + 5)),
    });
    return true;
}

static unsigned byte_of(double light)
{
    return (unsigned)lround(from_linear(light) * CHANNEL_MAX);
}

void colour_write(struct colour colour, char ret_text[COLOUR_CHARS + 1])
{
    struct rgb rgb = to_shown_rgb(colour);
    snprintf(ret_text, COLOUR_CHARS + 1, "#%02x%02x%02x", byte_of(rgb.red) & 255U, byte_of(rgb.green) & 255U,
             byte_of(rgb.blue) & 255U);
}

/* ---- Contrast ---- */

static double written_luminance(struct colour colour)
{
    char text[COLOUR_CHARS + 1];
    colour_write(colour, text);
    struct rgb rgb = {
        .red = to_linear(channel_at(text + 1)),
        .green = to_linear(channel_at(text + 3)),
        .blue = to_linear(channel_at(text + 5)),
    };
    return luminance(rgb);
}

double colour_contrast(struct colour one, struct colour other)
{
    double first = written_luminance(one);
    double second = written_luminance(other);
    return (fmax(first, second) + 0.05) / (fmin(first, second) + 0.05);
}

struct colour colour_mix(struct colour one, struct colour other, double share)
{
    double a = (1 - share) * one.chroma * cos(one.hue) + share * other.chroma * cos(other.hue);
    double b = (1 - share) * one.chroma * sin(one.hue) + share * other.chroma * sin(other.hue);
    return (struct colour){
        .lightness = (1 - share) * one.lightness + share * other.lightness,
        .chroma = hypot(a, b),
        .hue = atan2(b, a),
    };
}

static double least_contrast(struct colour colour, struct colour ground, struct colour other_ground)
{
    return fmin(colour_contrast(colour, ground), colour_contrast(colour, other_ground));
}

/* The lightness between the colour's own and `end` that is nearest to its own and readable; false: `end` is not. */
static bool move_towards(struct colour *colour, double end, struct colour ground, struct colour other_ground, double least)
{
    double near = colour->lightness;
    double far = end;
    colour->lightness = end;
    if (least_contrast(*colour, ground, other_ground) < least)
        return false;
    for (int i = 0; i < SEARCH_STEPS; i++) {
        colour->lightness = (near + far) / 2;
        if (least_contrast(*colour, ground, other_ground) >= least)
            far = colour->lightness;
        else
            near = colour->lightness;
    }
    colour->lightness = far;
    return true;
}

struct colour colour_readable(struct colour colour, struct colour ground, struct colour other_ground, double least)
{
    struct colour darker = colour;
    struct colour lighter = colour;
    if (least_contrast(colour, ground, other_ground) >= least)
        return colour;
    bool has_darker = move_towards(&darker, 0, ground, other_ground, least);
    bool has_lighter = move_towards(&lighter, 1, ground, other_ground, least);
    if (has_darker && has_lighter)
        return colour.lightness - darker.lightness <= lighter.lightness - colour.lightness ? darker : lighter;
    if (has_darker || has_lighter)
        return has_darker ? darker : lighter;
    darker.lightness = 0;
    lighter.lightness = 1;
    bool is_darker = least_contrast(darker, ground, other_ground) >= least_contrast(lighter, ground, other_ground);
    return is_darker ? darker : lighter;
}
