/**
 * Matches a request that has a worker move all VMs of a pool to or from one of KubeVirt, as a regular expression of the
 * API server's and of JavaScript. The API server, which can't read JSON, asks for more rights by it, and a worker
 * carries out no other.
 */
export const HANDOVER_REQUEST = String.raw`"action"\s*:\s*"(takeover|release)"`;
