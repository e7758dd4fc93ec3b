/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agent_values.c: which keys the configuration file has beside the options. */
#include "cmd/agent_file.h"

const struct sp_agent_file_key sp_agent_file_values[] = {
    {"remote-write", sp_agent_file_remotes},
    {0},
};
