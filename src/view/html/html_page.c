/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/html/html_page.h"

#include "base/encode.h"

/* Made by tools/make-page: page_head, page_to_static, page_to_data, page_tail. */
#include "html_page.inc"

int sp_html_page_write(const struct sp_html_page *page, FILE *out)
{
	fwrite(page_head, 1, sizeof(page_head) - 1, out);
	sp_encode(out, SP_ENCODE_XML, page->title);
	fwrite(page_to_static, 1, sizeof(page_to_static) - 1, out);
	int r = page->put_static(out, page->arg);
	if (r < 0)
		return r;
	fwrite(page_to_data, 1, sizeof(page_to_data) - 1, out);
	r = page->put_data(out, page->arg);
	if (r < 0)
		return r;
	fwrite(page_tail, 1, sizeof(page_tail) - 1, out);
	return 0;
}
