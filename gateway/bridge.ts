/**
 * The sidecar's side of an approval gateway: proposals, their state, their withdrawal, and the
 * semantic diff of a gateway that has one. Tools import this file only; it changes nothing itself.
 */

export { type BridgeAnswer, type BridgeContext } from "./bridge/context.ts";
export { type BridgeIo, HTTP_LIMITS, REAL_IO } from "./bridge/http.ts";
export { findGateway, type Lookup } from "./bridge/find.ts";
export { type Proposal, propose } from "./bridge/propose.ts";
export { operationStatus } from "./bridge/status.ts";
export { cancelProposal } from "./bridge/cancel.ts";
export {
  askSemantic,
  SEMANTIC_LIMITS,
  type SemanticFile,
  type SemanticRequest,
} from "./bridge/semantic.ts";
