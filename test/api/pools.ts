import fc from 'fast-check';
import type { VirtualMachinePool } from '../../api/pool/pool.ts';

/** A pool with no more than the required fields. */
export const barePool = (spec: Partial<VirtualMachinePool['spec']> = {}): VirtualMachinePool => ({
  apiVersion: 'drover.dev/v1alpha1',
  kind: 'VirtualMachinePool',
  metadata: { name: 'web' },
  spec: { replicas: 2, template: { spec: { runStrategy: 'Always', template: { spec: { domain: {} } } } }, ...spec },
});

/** Any texts, and often such as YAML might read as something else. */
const text = fc.oneof(
  fc.constantFrom(
    'yes',
    'on',
    'no',
    'y',
    '1e3',
    'e1',
    '0644',
    '0x1f',
    '1_000',
    '~',
    'null',
    '12:30:45',
    '2020-01-01',
    '',
    ' a',
    '- b',
    'a: b',
    '#',
    '=',
  ),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);
const number = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }).filter((n) => !Object.is(n, -0)),
);
const field = fc
  .oneof(text, fc.constantFrom('domain', 'volumes', 'networks'))
  .filter((key) => key !== '__proto__' && key !== '<<');

const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    text,
    number,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(field, tie('json'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
const object = fc.dictionary(field, json, { maxKeys: 4, noNullPrototype: true });

const labelKey = fc.stringMatching(/^[a-z]{1,8}(\.io\/[a-z]{1,8})?$/);
/** YAML 1.1 writes `0o7` as plain text, and YAML 1.2 reads that as a number. */
const labelValue = fc
  .oneof(fc.constantFrom('', 'yes', '1', 'e1', 'a-b_c.D'), fc.stringMatching(/^[a-zA-Z0-9]{1,10}$/))
  .filter((value) => !/^0o[0-7]+$/.test(value));
export const labels = fc.dictionary(labelKey, labelValue, { maxKeys: 3, noNullPrototype: true });
export const name = fc.stringMatching(/^[a-z]([a-z0-9-]{0,10}[a-z0-9])?$/);

/** Templates with every kind of field that drover does not know. */
export const template = fc
  .record(
    {
      metadata: fc.record(
        { labels, annotations: fc.dictionary(labelKey, text, { maxKeys: 2, noNullPrototype: true }) },
        { requiredKeys: [] },
      ),
      spec: fc
        .tuple(object, object, fc.constantFrom('Always', 'Halted', 'Manual'), fc.array(name, { maxLength: 2 }))
        .map(([rest, vmi, runStrategy, disks]) => ({
          ...rest,
          runStrategy,
          dataVolumeTemplates: disks.map((disk) => ({ metadata: { name: disk }, spec: rest })),
          template: vmi,
        })),
    },
    { requiredKeys: ['spec'] },
  )
  // `running` among the random fields would conflict with the template's own run strategy.
  .filter(({ spec }) => !('running' in spec));
