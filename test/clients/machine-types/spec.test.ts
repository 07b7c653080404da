import fc from 'fast-check';
import { expect, test } from 'vitest';
import { VirtualMachineOperation } from '../../../api/operations/operation.ts';
import { specOf, UNKNOWN } from '../../../clients/machine-types/spec.ts';
import { operationOf } from '../../../clients/operations/make.ts';
import type { Transition } from '../../../decisions/machine-types/transition.ts';
import { transitionOf } from '../../../decisions/operations/transition.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { aTransition } from '../../decisions/machine-types/snapshots.ts';

const name = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
const someTransition: fc.Arbitrary<Transition> = fc
  .record({
    namespaces: fc.constant<string[]>(['shop']),
    labelSelector: fc.option(fc.record({ matchLabels: fc.dictionary(name, name) })),
    names: fc.uniqueArray(name, { maxLength: 3 }),
    exclude: fc.array(name, { maxLength: 2 }),
    only: fc.constantFrom('running' as const, 'stopped' as const, null),
    undoes: fc.option(fc.uuid()),
  })
  .chain((scope) =>
    fc.record({
      scope: fc.constant({ ...scope, glob: scope.undoes === null ? '*rhel8.*' : '*' }),
      to: scope.undoes === null ? fc.option(fc.constant('pc-q35-rhel9.2.0')) : fc.constant(null),
      restartNow: fc.boolean(),
      templates: fc.boolean(),
      maxRestarts: fc.constantFrom(3, '5%'),
      maxFailures: fc.nat(9),
      deadlineMs: fc.integer({ min: 1, max: 100_000_000 }),
      order: fc.constant({ basePolicy: 'Oldest' } as const),
      windows: fc.constantFrom([], [{ cron: '0 2 * * *', duration: '4h' }]),
      force: fc.boolean(),
      requestedBy: fc.constantFrom('ann', UNKNOWN),
      reason: fc.option(name),
    }),
  );

test('the operation that a command makes conforms to the schema, and asks for exactly what was asked for', () => {
  fc.assert(
    fc.property(someTransition, (transition) => {
      const operation = operationOf('shop', specOf(transition, transition.templates));
      expect(VirtualMachineOperation.safeParse(operation).error).toBeUndefined();
      const again = transitionOf(operation as unknown as StoredOperation);
      const { labelSelector } = transition.scope;
      // Without names, all VMs are chosen by labels that all have.
      const same = labelSelector === null && transition.scope.names.length === 0 ? {} : labelSelector;
      expect(again).toEqual({ ...transition, scope: { ...transition.scope, labelSelector: same } });
    }),
  );
});

test('names with namespaces select those VMs and no others, such as VMs of the same names in other namespaces', () => {
  const { namespaces, vms } = specOf(
    aTransition({ scope: { names: ['shop/db', 'bank/web'], exclude: ['x-*'] } }),
    true,
  );
  expect({ namespaces, vms }).toEqual({
    namespaces: ['shop', 'bank'],
    vms: { names: ['db', 'web'], exclude: ['x-*', 'shop/web', 'bank/db'] },
  });
  const mixed = aTransition({ scope: { names: ['db', 'bank/web'] } });
  expect(specOf(mixed, true, [{ namespace: 'shop', name: 'db' }])).toMatchObject({
    namespaces: ['bank', 'shop'],
    vms: { names: ['db', 'web'], exclude: ['bank/db', 'shop/web'] },
  });
  const bare = specOf(aTransition({ scope: { names: ['db', 'web'] } }), false);
  expect([bare.namespaces, bare.vms]).toEqual([undefined, { names: ['db', 'web'] }]);
});
