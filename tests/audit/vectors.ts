/** Test vectors of the ledger format: made once with two independent implementations. */

/** Public key of the throw-away key with the seed 00 01 … 1f. */
export const PUBLIC_KEY_HEX = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8";
export const PRIVATE_KEY_BASE64 =
  "MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
export const PUBLIC_KEY_BASE64 = "MCowBQYDK2VwAyEAA6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=";

export const CANONICAL_HEX =
  "7b223130223a747275652c2239223a66616c73652c225a223a6e756c6c2c22617272223a5b7b2261223a5b5d2c22" +
  "62223a317d2c7b7d5d2c226e223a2d332c227a223a22615c22625c5c632f645c625c665c6e5c725c745c75303030" +
  "305c75303031667fe280a8c3a9f09f9880222c22efbfbf223a312c22f09f9880223a327d";
export const CANONICAL_HASH =
  "sha256:4c0d1456e2bf4d8e9f5315aafa9785ee6aa858be6cfb4fdda98b6d15aa624550";

/** A first entry without a signature. */
export const UNSIGNED_LINE =
  '{"approval":"not_required","args_fingerprint":"sha256:07f29c9b2bb42b3cadf12e5246c271eb84' +
  'd4d8a7f636a56b6fad2eb12bcb6613","auditChainVersion":1,"auditSchemaVersion":1,"duration_m' +
  's":12,"entryHash":"sha256:78fa13cb230f485cef94ee54a562d14c9166c4f8a2489bdfadafadd497849b' +
  'ea","event_type":"tool_call","id":"bdeca765-488c-4e2a-b86b-25cd734f2988","previousHash":' +
  '"genesis","readOnly":true,"repo_scope":"repoPath:sha256:002e4a23dcf2441631b7404267954caa' +
  '869ba096ab7db09252d5ca75e0a548ad","result":"success","risk":"none","segmentId":"7ab6fa7a' +
  '-c5bf-4d82-86a8-26b4728b5acd","sequence":1,"session_id":"my-agent","sidecarReadOnly":tru' +
  'e,"summary":"example summary","timestamp":1700000000000,"tool":"repo.status"}';

/** What the hash of the first signed entry is made over. */
export const HASHED_TEXT =
  '{"approval":"not_required","args_fingerprint":"sha256:07f29c9b2bb42b3cadf12e5246c271eb84' +
  'd4d8a7f636a56b6fad2eb12bcb6613","auditChainVersion":1,"auditSchemaVersion":1,"duration_m' +
  's":12,"event_type":"tool_call","id":"bdeca765-488c-4e2a-b86b-25cd734f2988","previousHash' +
  '":"genesis","readOnly":true,"repo_scope":"repoPath:sha256:002e4a23dcf2441631b7404267954c' +
  'aa869ba096ab7db09252d5ca75e0a548ad","result":"success","risk":"none","segmentId":"7ab6fa' +
  '7a-c5bf-4d82-86a8-26b4728b5acd","sequence":1,"session_id":"my-agent","sidecarReadOnly":t' +
  'rue,"signatureKeyId":"03a107bff3ce10be","signatureVersion":3,"summary":"example summary"' +
  ',"timestamp":1700000000000,"tool":"repo.status"}';

/** A signed ledger of three entries. */
export const SIGNED_LINES: readonly string[] = [
  '{"approval":"not_required","args_fingerprint":"sha256:07f29c9b2bb42b3cadf12e5246c271eb84' +
  'd4d8a7f636a56b6fad2eb12bcb6613","auditChainVersion":1,"auditSchemaVersion":1,"duration_m' +
  's":12,"entryHash":"sha256:0c5fdaadda6dc1daddf023a8cf0afae8b06cfb2d0309204d3085c6e38d04cc' +
  '2e","event_type":"tool_call","id":"bdeca765-488c-4e2a-b86b-25cd734f2988","previousHash":' +
  '"genesis","readOnly":true,"repo_scope":"repoPath:sha256:002e4a23dcf2441631b7404267954caa' +
  '869ba096ab7db09252d5ca75e0a548ad","result":"success","risk":"none","segmentId":"7ab6fa7a' +
  '-c5bf-4d82-86a8-26b4728b5acd","sequence":1,"session_id":"my-agent","sidecarReadOnly":tru' +
  'e,"signature":"k8HtfQ_c0j4RwfYt0r11DOEg1QFL4gLPhCZt6YZdR50RTTu4bFcIu41TXM2_HnQSd3YKka5WI' +
  'oYThvZy6GoMAQ","signatureKeyId":"03a107bff3ce10be","signatureVersion":3,"summary":"examp' +
  'le summary","timestamp":1700000000000,"tool":"repo.status"}',
  '{"approval":"ui_handshake","args_fingerprint":"sha256:4054f6582ba9c2df719fb0ce5907ba765f' +
  '08773ea57b074e2ef9e41f52f3c338","auditChainVersion":1,"auditSchemaVersion":1,"duration_m' +
  's":3,"entryHash":"sha256:eac6e69bbda33a56ca134b8165d62f324cbdd4ce21e9ca66f8193601186e757' +
  'b","event_type":"write_proposal","id":"0f8fad5b-d9cb-469f-a165-70867728950e","previousHa' +
  'sh":"sha256:0c5fdaadda6dc1daddf023a8cf0afae8b06cfb2d0309204d3085c6e38d04cc2e","readOnly"' +
  ':false,"repo_scope":"repoPath:sha256:002e4a23dcf2441631b7404267954caa869ba096ab7db09252d' +
  '5ca75e0a548ad","result":"error","risk":"high","segmentId":"7ab6fa7a-c5bf-4d82-86a8-26b47' +
  '28b5acd","sequence":2,"session_id":"my-agent","sidecarReadOnly":true,"signature":"av-US4' +
  'fnFlQ4xzwMyMbjAQfHoneu0YRbUtoWQER-g5RroS970JZAaI9r56G06ESw5GjrM0peYCNsoHvjonqVAg","signa' +
  'tureKeyId":"03a107bff3ce10be","signatureVersion":3,"summary":"example summary","timestam' +
  'p":1700000000500,"tool":"operation.preview.reset"}',
  '{"approval":"denied","args_fingerprint":null,"auditChainVersion":1,"auditSchemaVersion":' +
  '1,"duration_ms":0,"entryHash":"sha256:dad195b63e5bd1a6b69a1cb87ceeff90abe732b9c3c61abb68' +
  'c52e9849a4f7c9","event_type":"write_block","id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","' +
  'previousHash":"sha256:eac6e69bbda33a56ca134b8165d62f324cbdd4ce21e9ca66f8193601186e757b",' +
  '"readOnly":false,"repo_scope":"unknown","result":"blocked","risk":"none","segmentId":"7a' +
  'b6fa7a-c5bf-4d82-86a8-26b4728b5acd","sequence":3,"session_id":"external-mcp-sidecar","si' +
  'decarReadOnly":true,"signature":"Vf68RISw8dhCyn5rTWDeyuz8M3UiqNm6rnvP0N4cHO1AgroMdkMnvTn' +
  'LBkucasCgD8kF6eC285X6NokCY3twDA","signatureKeyId":"03a107bff3ce10be","signatureVersion":' +
  '3,"summary":"example summary","timestamp":1700000001000,"tool":"no.such"}',
];
export const SIGNED_FILE_SHA256 =
  "11fd95d701edb6881aeaa650b3611c00ba00847f7b6394ed2bf77019d11debfe";

/** Records from before chaining: no signature version, version 2, version 1. */
export const LEGACY_LINES: readonly string[] = [
  '{"id":"evt-1","result":"success","signature":"IkMLVQjcWq0TjOjLOWBiRvYQcuNbzEeyoAHZpXk28s' +
  'uqE9YwxlrrH4gaV4l63WqxlxEWZbTeXlC-EF9bwZhIAg","signatureKeyId":"03a107bff3ce10be","times' +
  'tamp":1690000000000,"tool":"repo.refs"}',
  '{"id":"evt-2","result":"success","signature":"f2GH-A-eGZf3PWiyutz2AtFW4iQ2_d3Xy_rIVpnRNH' +
  'i8yK6gHPFqMJoWadwBF8PRx9kpXY-NSQW3a5jp69ynDQ","signatureKeyId":"03a107bff3ce10be","signa' +
  'tureVersion":2,"timestamp":1690000000001,"tool":"repo.brief"}',
  '{"id":"evt-1","result":"success","signature":"3Z_w8jdLTQ9dqPtAdwRuobt1nhOljc5_GwffY709C4' +
  'S1f5IKFLF3jGnAT1UZ2GxoznEuW_dep0pmvJLf1ArNCQ","signatureKeyId":"03a107bff3ce10be","signa' +
  'tureVersion":1,"timestamp":1690000000000,"tool":"repo.refs"}',
];
export const LEGACY_ANCHORS: readonly string[] = [
  "legacy-sha256:c0c4555e5844ae4fab06693a69bf02970d56a7f2d77048d5f2d332ccaf81552c",
  "legacy-sha256:b3c656d6054be3ceb3d7deb64086a190526b8c9405b2bae445f6ca785fc3b3df",
];
/** Hash of the unsigned entry when it follows the first two of these records. */
export const ANCHORED_HASH =
  "sha256:56449b215fc80bef04b2ea6ee7858594f6832fcc16794040f72b1a0e63d96b3c";

/** The checkpoint that is written when entries 1 and 2 of the signed ledger are pruned. */
export const CHECKPOINT =
  '{"auditCheckpointVersion":1,"createdAt":1700000002000,"nextSequence":3,"previousHash":"s' +
  'ha256:eac6e69bbda33a56ca134b8165d62f324cbdd4ce21e9ca66f8193601186e757b","prunedThroughSe' +
  'quence":2,"signature":"Oz9wE99egQxRTPKM7eb5AGVoYMu-F1gnOdxg67CJ0x_XjBDBoky_ItrFL5-SClGau' +
  'jQHThJq2pFM7usYCuJHDw","signatureKeyId":"03a107bff3ce10be","signatureVersion":3}';
export const SEGMENT_NAME =
  "mcp.jsonl.segment-00000000000000000001-00000000000000000003-7ab6fa7a-c5bf-4d82-86a8-26b4728b5acd";
