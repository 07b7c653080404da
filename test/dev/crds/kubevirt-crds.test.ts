import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { kubevirtCrds } from '../../../dev/crds/kubevirt-crds.ts';

interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema;
  required?: string[];
  format?: string;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
}

interface Version {
  name: string;
  storage: boolean;
  subresources?: object;
  schema: { openAPIV3Schema: Schema };
  additionalPrinterColumns: { name: string }[];
}

interface Crd {
  metadata: { name: string };
  spec: { group: string; names: object; scope: string; versions: Version[] };
}

const own = kubevirtCrds() as unknown as Crd[];
const file = resolve(import.meta.dirname, '../../../../shared/kubevirt/crds.json');
const theirs = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { items: Crd[] }).items : [];
const stored = ({ spec }: Crd): Version => spec.versions.find(({ storage }) => storage)!;

/** Yields the fields that our schema validates differently from KubeVirt's. */
function* differences(ours: Schema, kubevirts: Schema | undefined, path: string): Generator<string> {
  if (kubevirts === undefined) {
    yield `${path}: KubeVirt has no such field`;
    return;
  }
  if (ours['x-kubernetes-int-or-string'] !== kubevirts['x-kubernetes-int-or-string'])
    yield `${path}: a quantity for one of us only`;
  if (ours.type !== kubevirts.type) yield `${path}: ${ours.type}, and ${kubevirts.type} at KubeVirt`;
  if (ours.format === 'date-time' && kubevirts.format !== 'date-time') yield `${path}: a time for us only`;
  const required =
    ours.required?.filter(
      (name) => kubevirts['x-kubernetes-preserve-unknown-fields'] !== true && !kubevirts.required?.includes(name),
    ) ?? [];
  if (required.length > 0) yield `${path}: we alone ask for ${required.join()}`;
  if (kubevirts['x-kubernetes-preserve-unknown-fields'] === true) return;
  for (const [name, schema] of Object.entries(ours.properties ?? {}))
    yield* differences(schema, kubevirts.properties?.[name], `${path}.${name}`);
  if (ours.items !== undefined) yield* differences(ours.items, kubevirts.items, `${path}[]`);
  if (ours.additionalProperties !== undefined)
    yield* differences(ours.additionalProperties, kubevirts.additionalProperties, `${path}{}`);
}

describe("drover's own definitions of KubeVirt's and CDI's kinds", () => {
  test('are those that the fleet needs', () => {
    expect(own.map(({ metadata }) => metadata.name)).toEqual([
      'virtualmachines.kubevirt.io',
      'virtualmachineinstances.kubevirt.io',
      'virtualmachineinstancemigrations.kubevirt.io',
      'virtualmachineinstancereplicasets.kubevirt.io',
      'virtualmachinepools.pool.kubevirt.io',
      'kubevirts.kubevirt.io',
      'datavolumes.cdi.kubevirt.io',
    ]);
  });

  describe.skipIf(theirs.length === 0)("beside KubeVirt's own", () => {
    test.each(
      own.filter(({ spec }) => spec.group !== 'cdi.kubevirt.io').map((crd) => [crd.metadata.name, crd] as const),
    )('%s', (name, crd) => {
      const kubevirts = theirs.find(({ metadata }) => metadata.name === name)!;
      expect(crd.spec.names).toEqual(kubevirts.spec.names);
      expect(crd.spec.scope).toBe(kubevirts.spec.scope);
      expect(crd.spec.versions.map((version) => version.name).sort()).toEqual(
        kubevirts.spec.versions.map((version) => version.name).sort(),
      );
      expect(stored(crd).name).toBe(stored(kubevirts).name);
      expect(stored(crd).subresources).toEqual(stored(kubevirts).subresources);
      expect(stored(crd).additionalPrinterColumns).toEqual(stored(kubevirts).additionalPrinterColumns);
      expect([
        ...differences(stored(crd).schema.openAPIV3Schema, stored(kubevirts).schema.openAPIV3Schema, ''),
      ]).toEqual([]);
    });
  });
});
