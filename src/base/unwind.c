#include "base/unwind.h"

#include "base/panic.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>

struct unwind_frame {
    struct unwind_frame *outer;
    struct _Unwind_Exception exception;
    void *stack; /* the frame address of unwind_catch */
    jmp_buf landing;
};

static _Thread_local struct unwind_frame *innermost;

bool unwind_catch(void (*run)(void *context), void *context)
{
    struct unwind_frame frame = { .outer = innermost, .stack = __builtin_frame_address(0) };
    if (setjmp(frame.landing) != 0)
        return false;
    innermost = &frame;
    run(context);
    innermost = frame.outer;
    return true;
}

bool unwind_is_caught(void)
{
    return innermost != NULL;
}

/* Called before each function is left, with the address at which its caller's frame ends. The stack grows downwards, so the first
 * function whose frame ends above the frame address of unwind_catch is unwind_catch itself. */
static _Unwind_Reason_Code stop_at_catch(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                         struct _Unwind_Exception *exception, struct _Unwind_Context *context, void *argument)
{
    struct unwind_frame *frame = argument;
    (void)version;
    (void)class;
    (void)exception;
    if ((actions & _UA_END_OF_STACK) != 0)
        panic("the unwinder has passed its catch");
    if ((uintptr_t)_Unwind_GetCFA(context) > (uintptr_t)frame->stack)
        longjmp(frame->landing, 1);
    return _URC_NO_REASON;
}

void unwind_throw(const char *reason)
{
    struct unwind_frame *frame = innermost;
    if (frame == NULL) {
        fprintf(stderr, "posthorn: %s\n", reason);
        panic("no unwind_catch is active");
    }
    /* A cleanup that passes a bound itself ends at the next outer catch. */
    innermost = frame->outer;
    _Unwind_ForcedUnwind(&frame->exception, stop_at_catch, frame);
    panic("the unwinder has returned");
}
