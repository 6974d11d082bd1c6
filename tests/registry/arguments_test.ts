import assert from "node:assert/strict";
import { CodedError } from "../../common/errors.ts";
import { parseJson } from "../../common/json.ts";
import { checkArguments, findProblem, withDefaults } from "../../registry/arguments.ts";

type Schema = Record<string, unknown>;

/** The first problem of a JSON text, read as the server reads requests. */
function problem(schema: Schema, json: string): string | null {
  return findProblem(schema, parseJson(json), "arguments");
}

const object = (properties: Schema, more: Schema = {}): Schema => ({
  type: "object",
  properties,
  additionalProperties: false,
  ...more,
});

Deno.test("absent arguments are null and fail because an object is needed", () => {
  for (const absent of [undefined, null]) {
    assert.throws(
      () => checkArguments(object({}), absent),
      (error: unknown) =>
        error instanceof CodedError && error.code === -32602 &&
        error.message === "Invalid params" &&
        error.data?.["details"] === "arguments must be an object, not null",
    );
  }
  checkArguments(object({}), {});
});

Deno.test("each type accepts its own values and says what came instead", () => {
  const cases: [type: string, good: string[], bad: Record<string, string>][] = [
    ["string", ['""', '"x"'], { "1": "not the number 1", "null": "not null" }],
    ["integer", ["0", "-5", "9007199254740993"], {
      "5.0": "not the number 5",
      "5.5": "not the number 5.5",
      "1e3": "not the number 1000",
      '"5"': "not a string",
    }],
    ["number", ["0", "5.0", "5.5", "9007199254740993"], { "true": "not boolean" }],
    ["boolean", ["true", "false"], { "0": "not the number 0" }],
    ["array", ["[]"], { "{}": "not an object" }],
    ["object", ["{}"], { "[]": "not an array", "5.0": "not the number 5" }],
    ["null", ["null"], { "0": "not the number 0" }],
  ];
  for (const [type, good, bad] of cases) {
    for (const json of good) assert.equal(problem({ type }, json), null, `${type} ${json}`);
    for (const [json, text] of Object.entries(bad)) {
      assert.ok(
        problem({ type }, json)?.endsWith(text),
        `${type} ${json}: ${problem({ type }, json)}`,
      );
    }
  }
});

Deno.test("enum and const compare whole values", () => {
  assert.equal(problem({ enum: ["a", "b"] }, '"b"'), null);
  assert.equal(problem({ enum: ["a", "b"] }, '"B"'), "arguments must be one of a, b");
  assert.equal(problem({ const: false }, "false"), null);
  assert.equal(problem({ const: false }, "0"), "arguments must be false");
  assert.equal(problem({ const: "x" }, "null"), 'arguments must be "x"');
});

Deno.test("required and unknown members are told by name, members in order of the alphabet", () => {
  const schema = object({ b: { type: "string" }, a: { type: "string" } }, { required: ["b", "a"] });
  assert.equal(problem(schema, '{"a":1}'), "arguments.b is required");
  assert.equal(problem(schema, '{"b":""}'), "arguments.a is required");
  assert.equal(problem(schema, '{"b":1,"a":2}'), "arguments.a must be a string, not the number 2");
  assert.equal(
    problem(schema, '{"b":"","a":"","z":1,"c":1}'),
    "arguments.c is not an argument of this tool; known: b, a",
  );
  const open = { type: "object", properties: { a: { type: "string" } } };
  assert.equal(problem(open, '{"z":1}'), null);
});

Deno.test("names that every object inherits are neither known nor given", () => {
  const schema = object({ a: {} }, { required: ["constructor"] });
  assert.equal(problem(schema, '{"a":1}'), "arguments.constructor is required");
  for (const name of ["toString", "__proto__", "constructor", "hasOwnProperty"]) {
    assert.match(problem(object({ a: {} }), `{"${name}":1}`)!, /is not an argument/);
  }
});

Deno.test("a long unknown name is cut in the message", () => {
  const text = problem(object({}), JSON.stringify({ ["x".repeat(5_000)]: 1 }))!;
  assert.ok(text.length < 200);
});

Deno.test("lists are counted, their items located, and doubles found where they are forbidden", () => {
  const schema = { type: "array", minItems: 1, maxItems: 3, items: { type: "string" } };
  assert.equal(problem(schema, "[]"), "arguments needs at least 1 items");
  assert.equal(problem(schema, '["","","",""]'), "arguments has 4 items, at most 3 are allowed");
  assert.equal(problem(schema, '["",7]'), "arguments[1] must be a string, not the number 7");
  assert.equal(
    problem({ ...schema, uniqueItems: true }, '["a","b","a"]'),
    "arguments holds the same item twice",
  );
  assert.equal(problem({ ...schema, uniqueItems: true }, '["a","b"]'), null);
});

Deno.test("locations go through members and items", () => {
  const schema = object({
    targets: {
      type: "array",
      items: object({ branches: { type: "array", items: { type: "string", minLength: 1 } } }),
    },
  });
  assert.equal(
    problem(schema, '{"targets":[{"branches":["a",""]}]}'),
    "arguments.targets[0].branches[1] must not be empty",
  );
});

Deno.test("lengths count Unicode scalar values, neither UTF-16 units nor bytes", () => {
  const schema = { type: "string", minLength: 1, maxLength: 4 };
  assert.equal(problem(schema, '"😀😀😀😀"'), null);
  assert.equal(problem(schema, '"😀😀😀😀😀"'), "arguments has more than 4 characters");
  assert.equal(problem(schema, '"éééé"'), null);
  assert.equal(problem(schema, '"abcde"'), "arguments has more than 4 characters");
  assert.equal(problem(schema, '""'), "arguments must not be empty");
  assert.equal(
    problem(schema, JSON.stringify("x".repeat(1_000_000))),
    "arguments has more than 4 characters",
  );
});

Deno.test("patterns are anchored as written, and the message for ids speaks of ASCII", () => {
  const id = { type: "string", pattern: "^[A-Za-z0-9_-]+$" };
  assert.equal(problem(id, '"aZ0_-"'), null);
  for (const bad of ["a b", "é", "a\n", "../x", ""]) {
    assert.match(problem(id, JSON.stringify(bad))!, /ASCII/, JSON.stringify(bad));
  }
  const oid = { type: "string", pattern: "^(?:[0-9a-f]{40}|[0-9a-f]{64})$" };
  assert.equal(problem(oid, JSON.stringify("a".repeat(40))), null);
  assert.equal(problem(oid, JSON.stringify("0".repeat(64))), null);
  for (const length of [39, 41, 63, 65]) {
    assert.match(problem(oid, JSON.stringify("a".repeat(length)))!, /full lower-case object id/);
  }
});

Deno.test("numbers outside their range are refused, not clamped", () => {
  const schema = { type: "integer", minimum: 1, maximum: 200 };
  assert.equal(problem(schema, "1"), null);
  assert.equal(problem(schema, "200"), null);
  for (const n of ["0", "201", "-1", "9007199254740993"]) {
    assert.match(problem(schema, n)!, /allowed: 1 to 200 .*refused, not clamped/);
  }
  assert.match(problem({ type: "integer", minimum: 0 }, "-1")!, /allowed: 0 to …/);
});

Deno.test("anyOf names what each alternative needs; oneOf says how many match", () => {
  const any = object({ a: {}, b: {} }, { anyOf: [{ required: ["a"] }, { required: ["b"] }] });
  assert.equal(problem(any, '{"a":1,"b":1}'), null);
  assert.equal(problem(any, "{}"), "arguments matches none of the alternatives: give a or b");
  const one = {
    oneOf: [
      { properties: { t: { const: "x" } }, required: ["a"] },
      { properties: { t: { const: "y" } }, required: ["b"] },
    ],
  };
  assert.equal(problem(one, '{"t":"x","a":1}'), null);
  assert.equal(
    problem(one, '{"t":"x"}'),
    "arguments must match exactly one alternative, but matches 0",
  );
  assert.equal(
    problem(one, '{"a":1,"b":1}'),
    "arguments must match exactly one alternative, but matches 2",
  );
});

Deno.test("if, then, else and not tie members together", () => {
  const when = (value: string) => ({ properties: { d: { const: value } } });
  const schema = {
    type: "object",
    allOf: [
      { if: when("record"), then: { required: ["message"] } },
      { if: when("return"), then: { not: { required: ["message"] } } },
    ],
  };
  assert.equal(problem(schema, '{"d":"record","message":""}'), null);
  assert.equal(problem(schema, '{"d":"return"}'), null);
  assert.equal(problem(schema, '{"d":"record"}'), "arguments.message is required");
  assert.equal(
    problem(schema, '{"d":"return","message":""}'),
    "arguments must not have message here",
  );
  // Without the member both conditions hold, and the first one speaks.
  assert.equal(problem(schema, "{}"), "arguments.message is required");
  const other = { if: { type: "string" }, then: {}, else: { type: "null" } };
  assert.equal(problem(other, "null"), null);
  assert.equal(problem(other, "1"), "arguments must be a null, not the number 1");
  assert.equal(problem({ not: { type: "string" } }, '"x"'), "arguments is not allowed here");
});

Deno.test("the checks of one level come in the order of the contract, the first failure wins", () => {
  // Each step breaks one keyword more, from the last one checked to the first.
  const steps: [keyword: string, part: Schema, expected: RegExp][] = [
    ["maximum", { maximum: 1 }, /allowed/],
    ["const", { const: 1 }, /must be 1$/],
    ["enum", { enum: [2] }, /one of 2/],
    ["type", { type: "string" }, /a string, not/],
    ["oneOf", { oneOf: [{ const: 3 }] }, /exactly one/],
    ["anyOf", { anyOf: [{ const: 3 }] }, /none of the alternatives/],
    ["not", { not: {} }, /not allowed here/],
    ["if", { if: {}, then: { const: "then" } }, /"then"/],
    ["allOf", { allOf: [{ const: "all" }] }, /"all"/],
  ];
  let schema: Schema = {};
  for (const [keyword, part, expected] of steps) {
    schema = { ...schema, ...part };
    assert.match(problem(schema, "9")!, expected, keyword);
  }
  const text = { minLength: 3, maxLength: 1, pattern: "^b$" };
  assert.match(problem(text, '"aa"')!, /must not be empty|more than/);
  const members = object({ a: { type: "string" } }, { required: ["b"] });
  assert.match(problem(members, '{"z":1,"a":1}')!, /b is required/);
  assert.match(
    problem(object({ a: { type: "string" } }), '{"z":1,"a":1}')!,
    /z is not an argument/,
  );
});

Deno.test("declared defaults are filled in at the top only, given values stay, the input is not changed", () => {
  const schema = object({
    limit: { type: "integer", default: 50 },
    on: { type: "boolean", default: true },
    off: { type: "boolean", default: false },
    text: { type: "string" },
    list: { type: "array", items: object({ x: { default: 1 } }) },
  });
  const given = { on: false, list: [{}] };
  assert.deepEqual(withDefaults(schema, given), { limit: 50, on: false, off: false, list: [{}] });
  assert.deepEqual(given, { on: false, list: [{}] });
});

Deno.test("JSON nested as deeply as the server reads it is checked without trouble", () => {
  const json = "[".repeat(120) + "]".repeat(120);
  assert.equal(problem({ type: "object" }, json), "arguments must be an object, not an array");
});
