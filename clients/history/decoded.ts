import type { Payload, PayloadCodec } from '@temporalio/common';

/** Decodes every payload of a history in place: Temporal returns payloads as the codecs encoded them. */
export async function decodePayloads(value: unknown, codecs: readonly PayloadCodec[]): Promise<void> {
  if (codecs.length === 0) return;
  const open = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null || next instanceof Uint8Array) continue;
    for (const [key, inner] of Object.entries(next)) {
      if (isPayload(inner)) Object.assign(next, { [key]: await decoded(inner, codecs) });
      else if (typeof inner === 'object' && inner !== null) open.push(inner);
    }
  }
}

/** Reverses all codecs on one payload. */
export async function decoded(payload: Payload, codecs: readonly PayloadCodec[]): Promise<Payload> {
  let payloads = [payload];
  for (const codec of codecs.toReversed()) payloads = await codec.decode(payloads);
  return payloads[0]!;
}

const isPayload = (value: unknown): value is Payload =>
  typeof value === 'object' &&
  value !== null &&
  'data' in value &&
  (value as Payload).data instanceof Uint8Array &&
  typeof (value as Payload).metadata?.['encoding'] === 'object';
