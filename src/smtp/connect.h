/*
 * SMTP connect: libcurl makes the connection of a session, with TLS and log-in
 * (CURLOPT_CONNECT_ONLY). The loop's epoll drives it without blocking. The
 * functions at the end read and write bytes on it. Internal to the SMTP client.
 */
#pragma once

#include "smtp/session.h"

/* The multi handle of a loop. */
void smtp_connect_init(struct smtp_event_loop *loop) NONNULL(1);
void smtp_connect_done(struct smtp_event_loop *loop) NONNULL(1);

/* Begins to connect; smtp_session_connected or _unreachable follows, later. */
void smtp_connect_begin(struct smtp_session *session) NONNULL(1);

/* Closes the connection at once, or cancels connecting. */
void smtp_connect_end(struct smtp_session *session) NONNULL(1);

/* Handle a ready socket of libcurl, and an expired timer of libcurl. */
void smtp_connect_socket_ready(struct smtp_event_loop *loop, int fd, uint32_t epoll_events) NONNULL(1);
void smtp_connect_time_passed(struct smtp_event_loop *loop) NONNULL(1);

enum smtp_wire { SMTP_WIRE_MOVED, SMTP_WIRE_BUSY, SMTP_WIRE_LOST };

/* Move some bytes, at least one after SMTP_WIRE_MOVED. The kernel gets written bytes as whole TLS records, so the relay cannot
 * have received more than was counted. */
enum smtp_wire smtp_connect_write(struct smtp_session *session, const char *bytes, size_t size, size_t *ret_moved) NONNULL(1, 2, 4);
enum smtp_wire smtp_connect_read(struct smtp_session *session, char *ret_bytes, size_t size, size_t *ret_moved) NONNULL(1, 2, 4);
