# SPDX-License-Identifier: GPL-2.0-or-later
# clickhouse.bash: sourced after lib.bash by tests that want a real ClickHouse server: Debian's 18.16, unpacked.
#   clickhouse_fetch          false if its packages cannot be had
#   clickhouse_start NAME     begins the server NAME in $dir/NAME, on the loopback interface: its address is in $address,
#                             its process in $server. Again with the same name: over the data that are there. What stands
#                             in $clickhouse_more is part of its configuration
#   clickhouse_ask SQL        what the server at $address says
# Users: default, without a password; soprof, with the password `it's "so"`; parts, whose larger questions the server answers in
# part, if it is not told otherwise; reads, who may set nothing; parts_reads, who is both.
. "$SOPROF_SOURCE/tests/unpack.bash"
clickhouse_packages=(clickhouse-common clickhouse-server libboost-filesystem1.74.0 libboost-program-options1.74.0 libcapnp-0.9.2
	libcctz2 libcpuinfo0 libdouble-conversion3 libfarmhash0 libicu72 libjemalloc2 libltdl7 libmariadb3 libmetrohash1 libodbc2 libpocodata80
	libpocodataodbc80 libpocofoundation80 libpocojson80 libpocomongodb80 libpoconet80 libpoconetssl80 libpococrypto80 libpocoutil80
	libpocoxml80 librdkafka1 libre2-9)
clickhouse_fetch() { unpack_all clickhouse "${clickhouse_packages[@]}"; }

clickhouse_start() {
	local home=$dir/$1 port tries=$((300 * slow))
	mkdir -p "$home/data" "$home/tmp"
	[ -s "$home/port" ] || free_port >"$home/port"
	read -r port <"$home/port"
	cat >"$home/config.xml" <<-END
		<yandex>
		<logger><level>warning</level><console>true</console></logger>
		<http_port>$port</http_port><listen_host>127.0.0.1</listen_host>
		<path>$home/data/</path><tmp_path>$home/tmp/</tmp_path><users_config>$home/users.xml</users_config>
		<default_profile>default</default_profile><default_database>default</default_database><timezone>UTC</timezone>
		<mark_cache_size>33554432</mark_cache_size><uncompressed_cache_size>8388608</uncompressed_cache_size>
		${clickhouse_more:-}
		</yandex>
	END
	cat >"$home/users.xml" <<-END
		<yandex>
		<profiles><default></default>
		<parts><max_rows_to_group_by>3</max_rows_to_group_by><group_by_overflow_mode>any</group_by_overflow_mode></parts>
		<reads><readonly>1</readonly></reads>
		<parts_reads><readonly>1</readonly><max_rows_to_group_by>3</max_rows_to_group_by>
		<group_by_overflow_mode>any</group_by_overflow_mode></parts_reads></profiles><quotas><default></default></quotas>
		<users>
		<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
		<soprof><password>it's "so"</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></soprof>
		<parts><password></password><networks><ip>127.0.0.1</ip></networks><profile>parts</profile><quota>default</quota></parts>
		<reads><password></password><networks><ip>127.0.0.1</ip></networks><profile>reads</profile><quota>default</quota></reads>
		<parts_reads><password></password><networks><ip>127.0.0.1</ip></networks><profile>parts_reads</profile><quota>default</quota></parts_reads>
		</users>
		</yandex>
	END
	LD_LIBRARY_PATH=$unpacked/clickhouse/usr/lib/x86_64-linux-gnu "$unpacked/clickhouse/usr/sbin/clickhouse-server" --config-file="$home/config.xml" \
		>>"$home/log" 2>&1 </dev/null &
	server=$! address=http://127.0.0.1:$port
	until curl -sf -o /dev/null "$address/ping"; do
		kill -0 $server 2>/dev/null && [ $((tries -= 1)) -gt 0 ] || { tail -n 5 "$home/log"; fail "a ClickHouse server"; finish; }
		sleep 0.1
	done
}
clickhouse_ask() { curl -sS "$address/?database=soprof" --data-binary "$1"; }
