import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { defaultPayloadConverter, type PayloadCodec } from '@temporalio/common';
import { expect, onTestFinished, test, vi } from 'vitest';
import { loadDataConverter } from '../../../workers/connection/data-converter.ts';

const CODEC = resolve(import.meta.dirname, '../../fixtures/codec.js');
const KEYED = resolve(import.meta.dirname, '../../fixtures/key-service-codec.js');
const STRICT = resolve(import.meta.dirname, '../../fixtures/strict-codec.js');

test('payloads are read through the codecs of the module that DROVER_DATA_CONVERTER names', async () => {
  const { payloadCodecs: codecs } = (await loadDataConverter(CODEC)) as { payloadCodecs: PayloadCodec[] };
  const plain = defaultPayloadConverter.toPayload({ vms: ['web-1'] });
  const [stored] = await codecs[0]!.encode([plain]);
  expect(() => defaultPayloadConverter.fromPayload(stored!)).toThrow('Unknown encoding');
  const [read] = await codecs[0]!.decode([stored!]);
  expect(defaultPayloadConverter.fromPayload(read!)).toEqual({ vms: ['web-1'] });
});

test('a payload that the codec cannot decode stays as it came, and affects no other', async () => {
  const { payloadCodecs: codecs } = (await loadDataConverter(STRICT)) as { payloadCodecs: PayloadCodec[] };
  const [stored] = await codecs[0]!.encode([defaultPayloadConverter.toPayload('mine')]);
  const foreign = { metadata: { encoding: new TextEncoder().encode('binary/encrypted') }, data: new Uint8Array([1]) };
  const [mine, other] = await codecs[0]!.decode([stored!, foreign]);
  expect(defaultPayloadConverter.fromPayload(mine!)).toBe('mine');
  expect(other).toBe(foreign);
});

test('a codec that is out of order decodes nothing, rather than have its payloads taken for those of others', async () => {
  let status = 200;
  const keys = createServer((_request, response) => void response.writeHead(status).end()).listen(0, '127.0.0.1');
  await once(keys, 'listening');
  vi.stubEnv('DROVER_TEST_KEYS', `http://127.0.0.1:${(keys.address() as AddressInfo).port}`);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    keys.closeAllConnections();
    keys.close();
  });
  const { payloadCodecs: codecs } = (await loadDataConverter(KEYED)) as { payloadCodecs: PayloadCodec[] };
  const [stored] = await codecs[0]!.encode([defaultPayloadConverter.toPayload('mine')]);
  const foreign = { metadata: { encoding: new TextEncoder().encode('binary/encrypted') }, data: new Uint8Array([1]) };
  status = 503;
  await expect(codecs[0]!.decode([stored!])).rejects.toThrow('the key service answers 503');
  await expect(codecs[0]!.decode([stored!, foreign])).rejects.toThrow('the key service answers 503');
  status = 200;
  const [mine, other] = await codecs[0]!.decode([stored!, foreign]);
  expect(defaultPayloadConverter.fromPayload(mine!)).toBe('mine');
  expect(other).toBe(foreign);
});

test('a payload without a module is not encoded', async () => {
  expect(await loadDataConverter(undefined)).toBeUndefined();
  expect(await loadDataConverter('')).toBeUndefined();
});

test('a path without a module, or a module without codecs, is reported with what would be right', async () => {
  await expect(loadDataConverter('/nowhere.js')).rejects.toThrow(
    /^DROVER_DATA_CONVERTER=\/nowhere\.js: cannot be loaded: /,
  );
  await expect(loadDataConverter(resolve(import.meta.dirname, '../../../workers/logger.ts'))).rejects.toThrow(
    /must export payloadCodecs, a list of Temporal's PayloadCodec with encode and decode$/,
  );
});
