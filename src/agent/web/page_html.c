/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/web/page_html.h"

/* Made by tools/make-page: page_policy, page_whole. */
#include "web_page.inc"

const struct sp_web_page sp_web_page = {.html = page_whole, .n = sizeof(page_whole) - 1, .policy = page_policy};
