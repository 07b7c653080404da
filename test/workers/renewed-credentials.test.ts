import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { expect, onTestFinished, test } from 'vitest';
import { untilRenewed } from '../../workers/renewed-credentials.ts';

/** Waits with what each look finds, in this order, and returns how many looks it took. */
async function looks(found: readonly unknown[]): Promise<number> {
  let count = 0;
  const stop = new AbortController();
  const read = (): unknown => {
    const one = found[count++];
    if (count > found.length) stop.abort();
    if (one instanceof Error) throw one;
    return one;
  };
  await untilRenewed({ signal: stop.signal, everyMs: 1, read }).catch((error: Error) => {
    if (error.name !== 'AbortError') throw error;
    count = Infinity;
  });
  return count;
}

test('a certificate that was renewed is noticed once it was read twice alike', async () => {
  expect(await looks(['a', 'a', 'b', 'b'])).toBe(4);
  // A new certificate beside the old key, and then both.
  expect(await looks(['a', 'half', 'b', 'b', 'b'])).toBe(4);
});

test('what is as it was, or cannot be read for a while, ends nobody', async () => {
  expect(await looks(['a', 'a', 'a'])).toBe(Infinity);
  expect(await looks(['a', new Error('gone'), new Error('gone'), 'a', 'b', 'a'])).toBe(Infinity);
});

test("the files are those that Temporal's variables name", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'drover-renewed-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  for (const file of [cert, key]) writeFileSync(file, 'first');
  const overrideEnvVars = { TEMPORAL_TLS_CLIENT_CERT_PATH: cert, TEMPORAL_TLS_CLIENT_KEY_PATH: key };
  const read = (): unknown => loadClientConnectConfig({ overrideEnvVars });
  const stop = new AbortController();
  const renewed = untilRenewed({ signal: stop.signal, everyMs: 5, read });
  writeFileSync(cert, 'second');
  await expect(renewed).resolves.toBeUndefined();
});
