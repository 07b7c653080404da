import { Ajv, type ValidateFunction } from 'ajv';
import { describe, expect, test } from 'vitest';
import { droverCrds } from '../../api/crd/crds.ts';
import type { StructuralSchema } from '../../api/crd/structural-schema.ts';
import type { Stored } from '../../api/objects.ts';
import { isObject } from '../../decisions/lib/json.ts';
import { objectsOf, versions } from './histories.ts';
import { FACTS } from './stored-facts.ts';
import { KEPT_KINDS, shownBy } from './stored-objects.ts';

/**
 * Objects that `record.ts` has kept from servers, as the API server had them: pools, operations and what is marked on
 * VMs outlive every upgrade, so each later release has to read them as the release did that stored them.
 */
const byVersion = versions().map((version) => ({ version, objects: objectsOf(version) }));

/** Fields of statuses that the recorded tests leave empty, with what is below them. */
const NOT_ON_SERVERS: readonly string[] = [
  'VirtualMachineDisruptionBudget.status.claims.pastBudgets',
  'VirtualMachineDisruptionBudget.status.conditions.observedGeneration',
  'VirtualMachineDisruptionBudget.status.migrating',
  'VirtualMachineOperation.status.failures.wasDown',
  'VirtualMachineOperation.status.machineType.results.fault',
  'VirtualMachineOperationSchedule.status.lastMissed',
  'VirtualMachinePool.status.check.job.uid',
  'VirtualMachinePool.status.healing.cycles.onSameDisks',
  'VirtualMachinePool.status.healing.cycles.role',
  'VirtualMachinePool.status.healing.cycles.skipDelay',
  'VirtualMachinePool.status.healing.cycles.skipped',
  'VirtualMachinePool.status.healing.finished.refusals',
  'VirtualMachinePool.status.healing.leftAlone',
  'VirtualMachinePool.status.healing.notListed',
  'VirtualMachinePool.status.healing.vmiPauses',
  'VirtualMachinePool.status.membership.handledRequests.reason',
  'VirtualMachinePool.status.outdatedPodReplicas',
  'VirtualMachinePool.status.rollout.failures.wasDown',
  'VirtualMachinePool.status.rollout.handledRequests.vms',
];

const schemas = new Map(
  droverCrds().map(({ spec }) => [spec.names.kind, spec.versions[0]!.schema.openAPIV3Schema] as const),
);

/** What the API server would prune is refused as well: the next write would lose it. */
const withoutOthers = (schema: StructuralSchema): object =>
  JSON.parse(JSON.stringify(schema), (_, one: unknown) =>
    isObject(one) && one['type'] === 'object' && isObject(one['properties']) ? closed(one) : one,
  ) as object;
const closed = (schema: Record<string, unknown>): object =>
  schema['x-kubernetes-preserve-unknown-fields'] === true ? schema : { ...schema, additionalProperties: false };

const ajv = new Ajv({ strict: false, validateFormats: false });
const validators = new Map<string, ValidateFunction>(
  [...schemas].map(([kind, schema]) => [kind, ajv.compile(withoutOthers(schema))]),
);

/** Yields the paths of all fields, as `shownBy` has them. */
function* fieldsOf({ properties, items }: StructuralSchema, path: string): Generator<string> {
  if (items !== undefined) yield* fieldsOf(items, path);
  for (const [name, schema] of Object.entries(properties ?? {})) {
    yield `${path}.${name}`;
    yield* fieldsOf(schema, `${path}.${name}`);
  }
}

const nameOf = ({ kind, metadata: { namespace, name } }: Stored): string => `${kind} ${namespace}/${name}`;

describe.each(byVersion)('objects that $version has stored', ({ objects }) => {
  test('are of all kinds on which it records something', () => {
    expect([...new Set(objects.map(({ kind }) => kind!))].toSorted()).toEqual(
      KEPT_KINDS.map(({ kind }) => kind).toSorted(),
    );
  });

  test('are valid by the definitions of today, and lose nothing', () => {
    for (const object of objects) {
      const isValid = validators.get(object.kind!);
      if (isValid === undefined) continue;
      isValid(object);
      expect({ object: nameOf(object), errors: isValid.errors }).toEqual({ object: nameOf(object), errors: null });
    }
  });

  test.each(FACTS)('say by the code of today: $what ($kinds)', ({ kinds, stored, read }) => {
    const some = objects.filter(({ kind }) => kinds.includes(kind!));
    for (const object of some) expect([nameOf(object), read(object)]).toEqual([nameOf(object), stored(object)]);
    expect(some.some((object) => says(stored(object)))).toBe(true);
  });
});

const says = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value));

/** Some kinds have the same status. */
const alike = (path: string): string => path.replace('Cluster', '').replace('MachineInstanceReplica', 'MachineReplica');

test('the newest objects show each field of the statuses of today', () => {
  const { objects } = byVersion.at(-1)!;
  const shown = new Set(objects.flatMap((object) => [...shownBy(object)]).map(alike));
  const missing = [...schemas].flatMap(([kind, { properties }]) =>
    [...fieldsOf(properties!['status']!, `${kind}.status`)].map(alike).filter((path) => !shown.has(path)),
  );
  expect(missing.filter((path) => !NOT_ON_SERVERS.some((one) => `${path}.`.startsWith(`${one}.`)))).toEqual([]);
});
