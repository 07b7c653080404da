import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defaultPayloadConverter, type DataConverter, type Payload, type PayloadCodec } from '@temporalio/common';

/** Thrown if the module can't be used; the message says what would be right. */
class DataConverterError extends Error {
  override readonly name = 'DataConverterError';
}

/**
 * Loads the module at `path`, which encodes each payload before Temporal gets it, for instance to encrypt it. Its
 * export `payloadCodecs` is a list of Temporal's `PayloadCodec`. Workers and commands must use the same module.
 * Resolves to undefined without a path. Throws `DataConverterError`.
 */
export async function loadDataConverter(path: string | undefined): Promise<DataConverter | undefined> {
  if (path === undefined || path === '') return undefined;
  const setting = `DROVER_DATA_CONVERTER=${path}`;
  const module = await (import(pathToFileURL(resolve(path)).href) as Promise<{ payloadCodecs?: unknown }>).catch(
    (error: unknown) => {
      throw new DataConverterError(`${setting}: cannot be loaded: ${(error as Error).message}`, { cause: error });
    },
  );
  const { payloadCodecs } = module;
  if (!Array.isArray(payloadCodecs) || payloadCodecs.length === 0 || !payloadCodecs.every(isCodec)) {
    throw new DataConverterError(
      `${setting}: must export payloadCodecs, a list of Temporal's PayloadCodec with encode and decode`,
    );
  }
  return { payloadCodecs: payloadCodecs.map(lenient) };
}

/**
 * Anyone may send a signal that the codec can't decode, and Temporal retries a task forever if its payloads are not
 * decoded. Such a payload stays as it came: its reader learns that the encoding is unknown. If the codec is out of
 * order, which says nothing of the payload, the task fails and is tried again: otherwise, signals would be dropped
 * meanwhile, and a workflow that is replayed would not do what it did.
 */
const lenient = (codec: PayloadCodec): PayloadCodec => ({
  encode: (payloads) => codec.encode(payloads),
  decode: async (payloads) => {
    try {
      return await codec.decode(payloads);
    } catch {
      await ensureWorks(codec);
      return await Promise.all(payloads.map((payload) => decodedOrNot(codec, payload)));
    }
  },
});

/** Throws if the codec can't decode what it encodes, as when the service with its keys does not answer. */
async function ensureWorks(codec: PayloadCodec): Promise<void> {
  await codec.decode(await codec.encode([SAMPLE]));
}

const SAMPLE = defaultPayloadConverter.toPayload('drover');

async function decodedOrNot(codec: PayloadCodec, payload: Payload): Promise<Payload> {
  try {
    const [decoded] = await codec.decode([payload]);
    return decoded ?? payload;
  } catch {
    return payload;
  }
}

const isCodec = (one: unknown): one is PayloadCodec =>
  typeof one === 'object' &&
  one !== null &&
  typeof (one as PayloadCodec).encode === 'function' &&
  typeof (one as PayloadCodec).decode === 'function';
