/** The tools that the official conformance suite calls by name. */

import { blocks, type FixtureTool, pause, payload } from "../protocol/fixture_tools.ts";

/** A red pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/** A WAV file without samples. */
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";
const image = { type: "image", data: PNG, mimeType: "image/png" };
const text = (value: string) => ({ type: "text", text: value });

/** A schema with everything of 2020-12 that must reach the client unchanged. */
const SCHEMA_2020_12 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

export const CONFORMANCE_TOOLS: readonly FixtureTool[] = [
  {
    name: "test_simple_text",
    description: "Gives one text.",
    run: () => blocks([text("This is a simple text response for testing.")]),
  },
  { name: "test_image_content", description: "Gives an image.", run: () => blocks([image]) },
  {
    name: "test_audio_content",
    description: "Gives a sound.",
    run: () => blocks([{ type: "audio", data: WAV, mimeType: "audio/wav" }]),
  },
  {
    name: "test_embedded_resource",
    description: "Gives a resource inside the result.",
    run: () =>
      blocks([{
        type: "resource",
        resource: {
          uri: "test://embedded-resource",
          mimeType: "text/plain",
          text: "This is an embedded resource content.",
        },
      }]),
  },
  {
    name: "test_multiple_content_types",
    description: "Gives a text, an image and a resource.",
    run: () =>
      blocks([text("Multiple content types test:"), image, {
        type: "resource",
        resource: {
          uri: "test://mixed-content-resource",
          mimeType: "application/json",
          text: JSON.stringify({ test: "data", value: 123 }),
        },
      }]),
  },
  {
    name: "test_error_handling",
    description: "Always fails.",
    run: () => blocks([text("This tool intentionally returns an error for testing")], true),
  },
  {
    name: "test_tool_with_progress",
    description: "Reports progress three times.",
    run: async (_args, { progress, signal }) => {
      for (const done of [0, 50, 100]) {
        progress(done, 100);
        await pause(50, signal);
      }
      return payload({ done: true });
    },
  },
  {
    name: "json_schema_2020_12_tool",
    description: "Has a schema with keywords of JSON Schema 2020-12.",
    inputSchema: SCHEMA_2020_12,
    run: (args) => payload({ args }),
  },
  {
    name: "test_missing_capability",
    description: "Needs a client that can sample, which this server never asks for.",
    run: () => ({
      kind: "rpcError",
      code: -32021,
      message: "Missing required client capability",
      data: { requiredCapabilities: { sampling: {} } },
    }),
  },
  {
    name: "test_streaming_elicitation",
    description: "Would ask the user; this server answers without asking.",
    run: () => payload({ asked: false }),
  },
  {
    name: "test_logging_tool",
    description: "Would log; this server sends no log messages.",
    run: () => payload({ logged: false }),
  },
];
