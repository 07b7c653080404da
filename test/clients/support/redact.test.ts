import fc from 'fast-check';
import { expect, test } from 'vitest';
import * as names from '../../../api/labels-and-annotations.ts';
import type { KubeObject } from '../../../api/objects.ts';
import { redacted } from '../../../clients/support/redact.ts';
import { withChange } from '../../../decisions/changes/change-record.ts';
import { editsOf } from '../../../decisions/changes/edits.ts';

const SECRET = 'hunter2';

/** Where a pool, an operation or a ControllerRevision can hold what a guest is set up with. */
const PLACES: [string, (secret: string) => object][] = [
  ['user data', (userData) => ({ spec: { volumes: [{ name: 'init', cloudInitNoCloud: { userData } }] } })],
  ['user data in Base64', (userDataBase64) => ({ volumes: [{ cloudInitConfigDrive: { userDataBase64 } }] })],
  ['network data', (networkData) => ({ spec: { cloudInitNoCloud: { networkData } } })],
  ['the text of a patch', (text) => ({ spec: { patch: { merge: `{"spec":{"userData":"${text}"}}` } } })],
  [
    'an annotation of others',
    (text) => ({ spec: { template: { metadata: { annotations: { 'acme.com/key': text } } } } }),
  ],
  [
    'what kubectl applied',
    (text) => ({ data: { metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': text } } } }),
  ],
  ['JSON in an annotation of drover', (userData) => ({ note: JSON.stringify({ volumes: [{ userData }] }) })],
  ['a certificate', (text) => ({ spec: { caBundle: `-----BEGIN CERTIFICATE-----\n${text}` } })],
  [
    "a variable of a check's container",
    (value) => ({ job: { spec: { containers: [{ env: [{ name: 'A', value }] }] } } }),
  ],
  ['an argument of a container', (arg) => ({ containers: [{ command: ['sh', arg], args: [arg] }] })],
  ['a header that gets an image', (token) => ({ source: { http: { extraHeaders: [`Authorization: ${token}`] } } })],
  ['a header of a probe', (value) => ({ httpGet: { httpHeaders: [{ name: 'Authorization', value }] } })],
  ['the password in a URL', (secret) => ({ http: { url: `https://me:${secret}@images.example/a.qcow2` } })],
  ['the query of a URL', (secret) => ({ http: { url: `https://images.example/a.qcow2?X-Signature=${secret}&b=1` } })],
  ['a URL in a sentence', (secret) => ({ message: `no image at "https://me:${secret}@images.example/a?b=${secret}"` })],
  ['a sidecar in an annotation', (arg) => ({ note: JSON.stringify([{ image: 'hook', args: [arg] }]) })],
  ['a long text', (text) => ({ spec: { note: text + 'x'.repeat(4_000) } })],
];

test.each(PLACES)('a support bundle has no %s', (_, of) => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('spec', 'items', 'template', 'metadata2'), { maxLength: 4 }), (path) => {
      const nested = path.reduce<object>((inner, name) => ({ [name]: name === 'items' ? [inner] : inner }), of(SECRET));
      const object = { metadata: { name: 'web' }, ...nested } as KubeObject;
      expect(JSON.stringify(redacted(object))).not.toContain(SECRET);
    }),
  );
});

/** What a user's patch may have set on a VM, and what it replaced. */
const changed = fc.constantFrom<(secret: string) => object>(
  (userData) => ({ volumes: [{ name: 'init', cloudInitNoCloud: { userData } }] }),
  (text) => ({ volumes: [{ name: 'init', cloudInitConfigDrive: { networkData: text, userDataBase64: text } }] }),
  (value) => ({ readinessProbe: { httpGet: { httpHeaders: [{ name: 'Authorization', value }] } } }),
  (value) => ({ anything: { of: [value] } }),
);

const noteOf = (of: (secret: string) => object, [was, is]: readonly [string, string]): string => {
  const [live, patch] = [was, is].map((secret) => ({ spec: { template: { spec: of(secret) } } }));
  const found = editsOf(live, patch!);
  if ('lacks' in found) throw new Error(found.lacks);
  const record = { id: '1', operation: 'rotate', need: 'Restart', at: '2027-01-02T03:04:05Z', by: 'ada' } as const;
  return withChange(undefined, { ...record, edits: found.edits })!;
};

const ANNOTATIONS = Object.entries(names).flatMap(([name, value]) =>
  value.startsWith(`${names.GROUP}/`) && !/LABEL|FINALIZER/.test(name) ? [value] : [],
);

test.each(ANNOTATIONS)('a support bundle has no secret of a note in the annotation %s', (annotation) => {
  const told = fc.oneof(
    changed.map((of) => noteOf(of, ['hunter2-old', 'hunter2-new'])),
    fc.constantFrom(...PLACES).map(([, of]) => JSON.stringify(of(SECRET))),
  );
  fc.assert(
    fc.property(told, fc.boolean(), (text, isOfTemplate) => {
      const metadata = { name: 'web-1', annotations: { [annotation]: text } };
      const object = isOfTemplate ? { metadata: { name: 'web' }, spec: { template: { metadata } } } : { metadata };
      expect(JSON.stringify(redacted(object as KubeObject))).not.toContain(SECRET);
    }),
  );
});

test('a bundle says which fields of a VM a change has set', () => {
  const text = noteOf((userData) => ({ volumes: [{ name: 'init', cloudInitNoCloud: { userData } }] }), ['a', 'b']);
  const object = { metadata: { name: 'web-1', annotations: { [names.CHANGES_ANNOTATION]: text } } } as KubeObject;
  expect(redacted(object).metadata.annotations![names.CHANGES_ANNOTATION]).toContain('"cloudInitNoCloud","userData"]');
});

test('a bundle keeps what explains a problem', () => {
  const object = {
    apiVersion: 'drover.dev/v1alpha1',
    kind: 'VirtualMachinePool',
    metadata: { name: 'web', labels: { app: 'web' }, annotations: { 'drover.dev/paused': 'true' }, managedFields: [] },
    spec: { replicas: 3, template: { spec: { runStrategy: 'Always' } } },
    status: { conditions: [{ type: 'Progressing', status: 'False', message: 'halted, see https://images.example/a' }] },
  };
  const { managedFields: _, ...metadata } = object.metadata;
  expect(redacted(object)).toEqual({ ...object, metadata });
});
