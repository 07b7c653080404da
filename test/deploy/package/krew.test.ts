import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { krewManifest } from '../../../deploy/package/krew.ts';

/** What krew's documentation says of a manifest, and its index asks of a plugin. */
const Plugin = z.strictObject({
  apiVersion: z.literal('krew.googlecontainertools.github.com/v1alpha2'),
  kind: z.literal('Plugin'),
  metadata: z.strictObject({ name: z.string().regex(/^[a-z][a-z0-9-]*$/) }),
  spec: z.strictObject({
    version: z.string().regex(/^v\d+\.\d+\.\d+(-[\w.]+)?$/),
    homepage: z.url().optional(),
    shortDescription: z
      .string()
      .min(1)
      .max(50)
      .regex(/^[^\r\n]+[^.\r\n]$/),
    description: z.string().regex(/^(.{1,80}\n)+$/, 'wraps at 80 columns'),
    caveats: z.string().optional(),
    platforms: z
      .array(
        z.strictObject({
          selector: z.strictObject({
            matchExpressions: z
              .array(
                z.strictObject({ key: z.enum(['os', 'arch']), operator: z.literal('In'), values: z.array(z.string()) }),
              )
              .min(1),
          }),
          uri: z.url({ protocol: /^https$/ }),
          sha256: z.string().regex(/^[a-f0-9]{64}$/),
          files: z.array(z.strictObject({ from: z.string().min(1), to: z.string().min(1) })).min(1),
          bin: z.string().min(1),
        }),
      )
      .min(1),
  }),
});

test('the manifest for krew is as krew asks, for the file that is downloaded', () => {
  const folder = mkdtempSync(join(tmpdir(), 'drover-krew-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const packed = join(folder, 'drover.tgz');
  writeFileSync(packed, 'what npm has packed');

  const manifest = Plugin.parse(parse(krewManifest(packed, 'https://releases.example/drover-0.1.0.tgz')));
  expect(manifest.metadata.name).toBe('drover');
  expect(manifest.spec.platforms).toMatchObject([
    {
      uri: 'https://releases.example/drover-0.1.0.tgz',
      sha256: createHash('sha256').update('what npm has packed').digest('hex'),
    },
  ]);
});
