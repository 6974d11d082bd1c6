import assert from "node:assert/strict";
import { findRegions } from "../../git/conflict_markers.ts";

Deno.test("markers are told from text: torn, longer, nested and ambiguous ones", () => {
  const scan = (text: string, size = 7) => findRegions(new TextEncoder().encode(text), size, 10);
  const region = "<<<<<<< a\no\n=======\nt\n>>>>>>> b\n";
  assert.deepEqual(scan("x\n" + region).regions, [{ startLine: 2, sepLine: 4, endLine: 6 }]);
  assert.deepEqual(scan("<<<<<<< a\n" + region).regions, [{
    startLine: 2,
    sepLine: 4,
    endLine: 6,
  }]);
  assert.deepEqual(scan(region.replaceAll(" a", "a")).regions, [], "no space, no marker");
  assert.deepEqual(scan("=======\n>>>>>>> b\n").regions, []);
  assert.deepEqual(scan("<<<<<<< a\n>>>>>>> b\n").regions, []);
  assert.deepEqual(scan("<<<<<<<<< a\n=========\n>>>>>>>>> b\n").regions, [], "nested markers");
  assert.deepEqual(scan("<<<<<<<<< a\n=========\n>>>>>>>>> b\n", 9).count, 1);
  assert.deepEqual(scan("<<<<<<<\n=======\n=======\n>>>>>>>").regions, [{
    startLine: 1,
    sepLine: 2,
    endLine: 4,
    ambiguous: true,
  }]);
  assert.deepEqual(scan("<<<<<<< a\no\n||||||| c\nb\n=======\nt\n>>>>>>> b\n").regions, [{
    startLine: 1,
    baseLine: 3,
    sepLine: 5,
    endLine: 7,
  }]);
  assert.deepEqual(scan(region.repeat(12)).count, 12);
  assert.equal(scan(region.repeat(12)).regions.length, 10);
  assert.equal(scan("").count, 0);
});
