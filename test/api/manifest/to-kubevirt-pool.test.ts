import { expect, test } from 'vitest';
import { structuralSchema, type StructuralSchema } from '../../../api/crd/structural-schema.ts';
import { readKubeVirtPool } from '../../../api/manifest/kubevirt-pool.ts';
import { toKubeVirtPool } from '../../../api/manifest/to-kubevirt-pool.ts';
import { PoolSpec } from '../../../api/pool/pool.ts';
import { field } from '../../../decisions/lib/json.ts';

const template: PoolSpec['template'] = {
  metadata: { labels: { app: 'web' } },
  spec: { runStrategy: 'Always', template: { spec: { domain: {} } } },
};

const back = (spec: object): PoolSpec => {
  const document = {
    apiVersion: 'pool.kubevirt.io/v1beta1',
    kind: 'VirtualMachinePool',
    metadata: { name: 'web' },
    spec,
  };
  const reading = readKubeVirtPool(document, () => undefined);
  if ('findings' in reading) throw new Error(JSON.stringify(reading.findings));
  return reading.object.spec as PoolSpec;
};

test('a pool that KubeVirt can express comes back as it was', () => {
  const spec: PoolSpec = {
    replicas: 4,
    template: { ...template, metadata: { ...template.metadata, annotations: { a: 'b' } } },
    maxUnavailable: 2,
    nameGeneration: { appendPostfixToSecretReferences: true, appendPostfixToConfigMapReferences: false },
    updateStrategy: { proactive: { selectionPolicy: { basePolicy: 'Oldest' } } },
    scaleInStrategy: { proactive: { selectionPolicy: { basePolicy: 'Newest' }, statePreservation: 'Offline' } },
    autohealing: { startupFailureThreshold: 5, minFailingToStartDuration: '2m' },
    paused: true,
    selector: { matchLabels: { app: 'web' } },
  };
  expect(back(toKubeVirtPool('web', spec).spec)).toEqual(spec);
  for (const strategy of [{ unmanaged: {} }, { opportunistic: {} }] as const) {
    const { updateStrategy, scaleInStrategy } = back(
      toKubeVirtPool('web', { ...spec, updateStrategy: strategy, scaleInStrategy: strategy }).spec,
    );
    expect({ updateStrategy, scaleInStrategy }).toEqual({ updateStrategy: strategy, scaleInStrategy: strategy });
  }
});

test("drover's defaults are written out, and a selector is found for VMs without labels", () => {
  const { spec, notes } = toKubeVirtPool('web', { replicas: 1, template: { spec: template.spec } });
  expect(notes).toEqual([]);
  expect(spec).toMatchObject({
    maxUnavailable: '25%',
    selector: { matchLabels: { 'kubevirt.io/vmpool': 'web' } },
    virtualMachineTemplate: { metadata: { labels: { 'kubevirt.io/vmpool': 'web' } } },
  });
});

test('fields that KubeVirt cannot express are reported', () => {
  const { notes } = toKubeVirtPool('web', {
    replicas: 1,
    template,
    rollout: { minReadySeconds: 5 },
    updateStrategy: {
      proactive: {
        disruption: 'Live',
        selectionPolicy: { orderedPolicies: [{ labelSelector: { matchLabels: { a: 'b' } } }] },
      },
    },
    autohealing: { maxAttempts: 3 },
  });
  expect(notes.map((line) => line.split(' ')[0])).toEqual([
    'spec.rollout',
    'spec.updateStrategy.proactive.disruption',
    'spec.updateStrategy.proactive.selectionPolicy.orderedPolicies',
    'spec.autohealing.maxAttempts',
    'spec.autohealing:',
  ]);
});

/** Paths of all fields of the schema that hold no fields of their own, each with a value; lists count as one. */
function leaves(schema: StructuralSchema, path: string[] = []): { path: string[]; value: unknown }[] {
  const { properties, type, enum: values, items } = schema;
  if (properties !== undefined && path.at(-1) !== 'template' && path.at(-1) !== 'selector')
    return Object.entries(properties).flatMap(([key, inner]) => leaves(inner, [...path, key]));
  if (Array.isArray(values)) return [{ path, value: values.at(-1) }];
  const samples: Record<string, unknown> = {
    boolean: true,
    string: '10m',
    array: [items?.type === 'object' ? {} : 'a'],
  };
  return [{ path, value: samples[String(type)] ?? (type === 'object' ? {} : 1) }];
}

const nested = (path: readonly string[], value: unknown): object =>
  path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as object;

test('each field of a pool is a field of the KubeVirt pool as well, or is named as left out', () => {
  const fields = leaves(structuralSchema(PoolSpec)).filter(
    ({ path: [first = ''] }) => !['template', 'selector'].includes(first),
  );
  expect(fields.length).toBeGreaterThan(40);
  const lost = fields.filter(({ path, value }) => {
    const { spec, notes } = toKubeVirtPool('web', { template, ...nested(path, value) });
    const isNamed = path.some((_, index) =>
      notes.some((note) => note.startsWith(`spec.${path.slice(0, index + 1).join('.')} is left out: `)),
    );
    return !isNamed && JSON.stringify(field(back(spec), ...path)) !== JSON.stringify(value);
  });
  expect(lost.map(({ path }) => path.join('.'))).toEqual([]);
});
