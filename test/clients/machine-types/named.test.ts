import { expect, test } from 'vitest';
import { VirtualMachineOperation } from '../../../api/operations/operation.ts';
import { namedOperation } from '../../../clients/machine-types/named.ts';
import type { PlannedItem } from '../../../clients/machine-types/plan.ts';
import { operationOf } from '../../../clients/operations/make.ts';
import type { TransitionScope } from '../../../decisions/machine-types/transition.ts';
import { aTransition, scopeOf } from '../../decisions/machine-types/snapshots.ts';
import { specOf } from '../../decisions/machine-types/spec-of.ts';

const item = (namespace: string, name: string): PlannedItem => ({
  namespace,
  name,
  pool: null,
  type: null,
  vmiType: null,
  result: null,
  need: 'Change',
  message: null,
});

/** The operation of the command, once it is known which VMs match. */
function made(given: Partial<TransitionScope>, items: PlannedItem[] = [], namespace?: string) {
  const scope = scopeOf(given);
  const asked = operationOf(namespace, specOf(aTransition({ scope: given })));
  return namedOperation(asked, scope, items);
}

test('names with namespaces select those VMs and no others, such as VMs of the same names in other namespaces', () => {
  const { spec } = made({ names: ['shop/db', 'bank/web'], exclude: ['x-*'] });
  expect(spec).toMatchObject({
    namespaces: ['shop', 'bank'],
    vms: { names: ['db', 'web'], exclude: ['x-*', 'shop/web', 'bank/db'] },
  });
  const mixed = made({ names: ['db', 'bank/web'] }, [item('shop', 'db')]);
  expect(mixed.spec).toMatchObject({
    namespaces: ['bank', 'shop'],
    vms: { names: ['db', 'web'], exclude: ['bank/db', 'shop/web'] },
  });
  const bare = made({ names: ['db', 'web'] }).spec;
  expect(bare).not.toHaveProperty('namespaces');
  expect(bare.vms).toEqual({ names: ['db', 'web'] });
});

test('the operation conforms to its schema', () => {
  const operation = made({ namespaces: ['shop'] }, [item('shop', 'db')], 'shop');
  expect(VirtualMachineOperation.safeParse(operation).error).toBeUndefined();
});
