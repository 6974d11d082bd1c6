import assert from "node:assert/strict";
import { parsePolicy, readPolicyFile } from "../../../gateway/server/policy.ts";

Deno.test("a file that is no policy is refused with the place and the reason", () => {
  const wrong: [string, RegExp][] = [
    ["", /empty|line 1/],
    ["{", /line 1/],
    ["[]", /must be an object/],
    ["null", /must be an object/],
    ['{"version": 2, "rules": []}', /version must be 1, not 2/],
    ['{"version": "1", "rules": []}', /version must be 1/],
    ['{"rules": []}', /version must be 1, not nothing/],
    ['{"version": 1}', /rules must be a list/],
    ['{"version": 1, "rules": {}}', /rules must be a list/],
    ['{"version": 1, "rules": [], "extra": 1}', /unknown member "extra"/],
    ['{"version": 1, "rules": [{}]}', /rules\[0\]\.agentId/],
    ['{"version": 1, "rules": [{"agentId": "a b"}]}', /rules\[0\]\.agentId/],
    ['{"version": 1, "rules": [{"agentId": "a*b"}]}', /rules\[0\]\.agentId/],
    ['{"version": 1, "rules": [{"agentId": "x", "allow": []}]}', /unknown member "allow"/],
    ['{"version": 1, "rules": [{"agentId": "x", "operations": {"deny": ["undo"]}}]}', /"undo"/],
    ['{"version": 1, "rules": [{"agentId": "x", "operations": {"deny": "push"}}]}', /a list/],
    ['{"version": 1, "rules": [{"agentId": "x", "refs": {"deny": [""]}}]}', /non-empty/],
    ['{"version": 1, "rules": [{"agentId": "x", "refs": {"only": []}}]}', /unknown member "only"/],
    [
      '{"version": 1, "rules": [{"agentId": "x", "pathConstraints": {"repositories": ["a"]}}]}',
      /absolute path/,
    ],
    [
      '{"version": 1, "rules": [{"agentId": "x", "pathConstraints": {"worktrees": ["/a/../b"]}}]}',
      /absolute path without/,
    ],
    ['{"version": 1, "rules": [], "rules": []}', /"rules" stands twice/],
    ['{"version": 1, "rules": [], "rul\\u0065s": []}', /"rules" stands twice/],
    ['{"version": 1, // x\r "rules": [], "version": 1}', /"version" stands twice/],
    ['{"version": 1, /* "rules": [] */ "rules": [{"agentId":"x","agentId":"y"}]}', /stands twice/],
    ['{"__proto__": {"version": 1, "rules": []}}', /unknown member "__proto__"/],
    ['{"version": 1, "rules": [{"__proto__": {"agentId": "x"}}]}', /unknown member "__proto__"/],
    ['{"version": 1, "rules": [{"agentId": "x", "constructor": 1}]}', /unknown member/],
    ['{"version": 1, "rules": []} trailing', /line 1/],
    [`{"version": 1, "rules": ${"[".repeat(100_000)}`, /nested too deeply|line 1/],
    [`{"version": 1, "rules": [${"{},".repeat(1_001)}]}`, /more than 1000 entries/],
    [
      `{"version": 1, "rules": [{"agentId": "x", "refs": {"deny": ["${"*a".repeat(20)}"]}}]}`,
      /more than 16 stars/,
    ],
    [`{"version": 1, "rules": [], "x": "${"y".repeat(2 ** 20)}"}`, /more than 1048576/],
  ];
  for (const [text, message] of wrong) {
    assert.throws(() => parsePolicy(text), (error) => {
      assert.match((error as Error).message, message, text.slice(0, 80));
      assert((error as Error).message.length < 400);
      return true;
    });
  }
});

Deno.test("comments and trailing commas are allowed, and the whole form is read", () => {
  const { rules } = parsePolicy(`
    // What agents may ask for on this machine.
    {
      "version": 1,
      "rules": [
        {
          "agentId": "external-mcp-sidecar", /* whoever gives no name */
          "operations": { "allow": ["commit", "branch"], "deny": [] },
          "refs": { "allow": ["agent/**"], "deny": ["agent/secret"] },
          "pathConstraints": { "repositories": ["/nowhere/a"], "worktrees": ["/nowhere/b"] },
        },
        { "agentId": "*" },
      ],
    }`);
  assert.deepEqual(rules[0], {
    agentId: "external-mcp-sidecar",
    operations: { allow: ["commit", "branch"], deny: [] },
    refs: { allow: ["agent/**"], deny: ["agent/secret"] },
    repositories: ["/nowhere/a"],
    worktrees: ["/nowhere/b"],
  });
  assert.deepEqual(rules[1]!.operations, { allow: null, deny: [] });
});

Deno.test("a policy file that is a link, a pipe, too large, open to all or not text is refused", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const at = (name: string) => `${dir}/${name}`;
    const good = '{"version": 1, "rules": []}';
    await Deno.writeTextFile(at("good"), good, { mode: 0o644 });
    assert.deepEqual(readPolicyFile(at("good")), { rules: [] });
    await Deno.symlink(at("good"), at("link"));
    await new Deno.Command("mkfifo", { args: [at("pipe")] }).output();
    await Deno.mkdir(at("folder"));
    await Deno.writeTextFile(at("large"), good + " ".repeat(2 ** 20));
    await Deno.writeFile(at("binary"), new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]));
    await Deno.writeTextFile(at("open"), good);
    await Deno.chmod(at("open"), 0o666);
    const wrong: [string, RegExp][] = [
      [at("link"), /link is not followed/],
      [at("pipe"), /not a regular file/],
      [at("folder"), /not a regular file/],
      [at("large"), /more than the 1048576/],
      [at("binary"), /not valid UTF-8/],
      [at("open"), /everybody may write/],
      [at("absent"), /no such file/],
      ["", /names no file/],
    ];
    for (const [path, message] of wrong) {
      assert.throws(() => readPolicyFile(path), message, path);
    }
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
