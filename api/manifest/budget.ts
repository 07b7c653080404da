import type * as z from 'zod';
import { ClusterVirtualMachineDisruptionBudget, VirtualMachineDisruptionBudget } from '../budgets/budget.ts';
import { API_VERSION } from '../labels-and-annotations.ts';
import { isZero } from '../lib/int-or-percent.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  VirtualMachineDisruptionBudgets,
  type Resource,
} from '../resources.ts';
import { check } from './check.ts';
import { withoutKeptByServer } from './kept-by-server.ts';
import type { Applicable, ManifestKind } from './reader.ts';

type Budget = z.infer<typeof VirtualMachineDisruptionBudget | typeof ClusterVirtualMachineDisruptionBudget>;

const manifestsOf = (resource: Resource, schema: z.ZodType<Applicable>): ManifestKind => ({
  resource,
  readers: {
    [API_VERSION]: (document, written) => {
      const { object, notes } = withoutKeptByServer(document);
      const findings = check(schema, object, { written, hint });
      if (findings.length > 0) return { findings };
      const budget = object as Budget;
      return { object: budget, notes: [...notes, ...notesOn(budget)] };
    },
  },
});

export const BUDGET_MANIFESTS: readonly ManifestKind[] = [
  manifestsOf(VirtualMachineDisruptionBudgets, VirtualMachineDisruptionBudget),
  manifestsOf(ClusterVirtualMachineDisruptionBudgets, ClusterVirtualMachineDisruptionBudget),
];

/** What is allowed but holds back more, or less, than its author may expect. */
function notesOn({ spec: { maxUnavailable, minAvailable } }: Budget): string[] {
  if (maxUnavailable !== undefined && isZero(maxUnavailable))
    return ['spec.maxUnavailable: drover never disrupts these VMs: drains of their nodes wait until this changes'];
  return minAvailable === '100%'
    ? ['spec.minAvailable: drover never disrupts these VMs: drains of their nodes wait until this changes']
    : [];
}

function hint(path: readonly PropertyKey[]): string | undefined {
  const key = String(path.at(-1));
  if (path.length === 2 && key === 'namespaceSelector')
    return 'only a ClusterVirtualMachineDisruptionBudget selects namespaces';
  return key === 'generateName' ? 'a budget is applied by its name: write metadata.name instead' : undefined;
}
