// SPDX-License-Identifier: GPL-2.0-or-later
// A chain of methods of which each is called by one other only, so that every stack through them is known; and a thread
// in the class library: lambdas, streams, sorting, strings, big numbers.
public class Chain {
	static volatile int total;
	static int fnLeaf(int x) { return x * 31 + 7; }
	static int fnLoop(int x) { int s = x; for (int i = 0; i < 3; i++) s = fnLeaf(s); return s; }
	static int fnStep(int x) { return fnLoop(x) + 1; }
	static int fnSum(int n) { int s = 0; for (int i = 0; i < n; i++) s += fnStep(i); return s; }
	static void fnMain() { while (true) for (int i = 0; i < 50; i++) total += fnSum(40 + i % 9); }
	static int library() {
		java.util.Map<String, Integer> map = new java.util.HashMap<>();
		for (int i = 0; i < 300; i++) map.put("k" + (i * 7919 % 301), i);
		java.util.List<Integer> list = new java.util.ArrayList<>(map.values());
		list.sort((a, b) -> a - b);
		return list.stream().filter(x -> x % 3 == 0).mapToInt(Integer::intValue).sum()
			+ String.format("%d %s", list.get(5), "x").hashCode()
			+ new java.math.BigInteger("123456789123456789").pow(40).toString().length();
	}
	public static void main(String[] arguments) {
		Thread other = new Thread(() -> { while (true) total += library(); });
		other.setDaemon(true);
		other.start();
		fnMain();
	}
}
