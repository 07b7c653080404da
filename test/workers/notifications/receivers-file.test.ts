import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openReceivers } from '../../../workers/notifications/receivers-file.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

function file(content: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'drover-receivers-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'webhooks.yaml');
  writeFileSync(path, content);
  return path;
}

const quiet = { warn: () => {} };
const one = (more = ''): string => `receivers:\n  - name: ops\n    url: https://ops.example/hook\n${more}`;

test('a worker without a file has no receivers', () => {
  expect(openReceivers(null, quiet)()).toEqual([]);
});

test('a file is read again each time, and one that became unusable leaves the receivers as they were', () => {
  const warnings: unknown[] = [];
  const path = file(one());
  const receivers = openReceivers(path, { warn: (message, details) => warnings.push([message, details]) });
  expect(receivers()).toEqual([{ name: 'ops', url: 'https://ops.example/hook', secrets: [], batch: false }]);
  writeFileSync(path, one(`    secrets: [${SECRET}]\n`));
  expect(receivers()).toMatchObject([{ secrets: [SECRET] }]);
  writeFileSync(path, one(`    secrets: [hunter2]\n`));
  expect([receivers(), receivers()]).toMatchObject([[{ secrets: [SECRET] }], [{ secrets: [SECRET] }]]);
  expect(warnings).toHaveLength(1);
  expect(JSON.stringify(warnings)).not.toContain('hunter2');
});

test('an authority may be a file or stand in the file', () => {
  const ca = '-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n';
  expect(openReceivers(file(one(`    ca: ${file(ca)}\n`)), quiet)()).toMatchObject([{ ca }]);
  expect(openReceivers(file(one(`    ca: ${JSON.stringify(ca)}\n`)), quiet)()).toMatchObject([{ ca }]);
});

test.each([
  ['{', 'is not YAML'],
  ['[]', 'it: must be an object'],
  ['hunter2', 'it: must be an object'],
  ['receivers:\n  - name: ops\n', 'receivers[0].url: is missing: it must be text'],
  [one('    authorisation: hunter2\n'), 'receivers[0].authorisation: unknown field; did you mean authorization?'],
  [one('    secrets: hunter2\n'), 'receivers[0].secrets: must be a list'],
  [one('    urls: []\n'), 'receivers[0].urls: unknown field; known are name, url'],
  [
    'receivers:\n  - name: ops\n    url: ftp://ops.example\n',
    'receivers[0].url: must be a URL that begins with https://',
  ],
  ['receivers:\n  - name: ops\n    url: https://ann:hunter2@ops.example\n', 'receivers[0].url: must be a URL'],
  ['receivers:\n  - name: kubernetes-events\n    url: https://ops.example\n', 'receivers[0].name: is the name of'],
  [`${one()}${one().replace('receivers:\n', '')}`, 'receivers: two receivers have one name'],
  [one('    secrets: [c2hvcnQ=]\n'), 'receivers[0].secrets[0]: must be whsec_ and base64'],
  [one('    secrets: [whsec_c2hvcnQ=]\n'), 'receivers[0].secrets[0]: must be 24 to 64 bytes in base64'],
  [one('    types: [dev.drover.rolout.*]\n'), 'receivers[0].types[0]: matches no type of docs/notifications.md'],
  [one('    ca: /nonexistent\n'), "/nonexistent can't be read: ENOENT"],
])('the file %j is refused at the start, and says nothing secret', (content, why) => {
  const path = file(content);
  expect(() => openReceivers(path, quiet)).toThrow(why);
  expect(() => openReceivers(path, quiet)).not.toThrow('hunter2');
  expect(() => openReceivers(`${path}.other`, quiet)).toThrow(/DROVER_WEBHOOKS=.*can't be read: ENOENT/);
});
