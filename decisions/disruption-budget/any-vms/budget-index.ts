import type { BudgetSpec } from '../../../api/budgets/budget.ts';
import { matchesLabels } from '../../../api/rules/label-selector.ts';
import type { VmView } from '../../views/vm.ts';
import type { StoredBudget } from '../stored-budget.ts';

export type Labels = Readonly<Record<string, string>>;

/** What budgets select by. */
type Selected = Pick<VmView, 'namespace' | 'ownLabels'>;

/** Returns the labels of a namespace; undefined if they are not known. */
export type LabelsOfNamespace = (namespace: string) => Labels | undefined;

/**
 * Reports whether the budget is about the VM: by the VM's own labels, as `kubectl get vms -l` selects. A budget holds
 * in namespaces whose labels are not known.
 */
export const selects = (
  budget: StoredBudget,
  { namespace, ownLabels }: Selected,
  labelsOf: LabelsOfNamespace,
): boolean => matchesLabels(budget.spec.selector, ownLabels) && holdsIn(budget, namespace, labelsOf);

/** Reports whether the budget is about VMs of the namespace. */
export function holdsIn(
  { metadata, spec: { namespaceSelector } }: StoredBudget,
  namespace: string,
  labelsOf: LabelsOfNamespace,
): boolean {
  if (metadata.namespace !== undefined) return metadata.namespace === namespace;
  const labels = namespaceSelector && labelsOf(namespace);
  return labels === undefined || matchesLabels(namespaceSelector!, labels);
}

/**
 * Budgets by a label that each VM which they select has, so that a VM costs a look at its own labels, and not at all
 * budgets.
 */
export class BudgetIndex {
  readonly #labelsOf: LabelsOfNamespace;
  readonly #budgets = new Map<string, StoredBudget>();
  /** UIDs of budgets. */
  readonly #byTerm = new Map<string, Set<string>>();

  constructor(labelsOf: LabelsOfNamespace) {
    this.#labelsOf = labelsOf;
  }

  get size(): number {
    return this.#budgets.size;
  }

  values(): Iterable<StoredBudget> {
    return this.#budgets.values();
  }

  get(uid: string): StoredBudget | undefined {
    return this.#budgets.get(uid);
  }

  change(before: StoredBudget | undefined, after: StoredBudget | undefined): void {
    if (before !== undefined) this.#remove(before);
    if (after === undefined) return;
    const { uid } = after.metadata;
    this.#budgets.set(uid, after);
    for (const term of termsOf(after)) this.#byTerm.set(term, (this.#byTerm.get(term) ?? new Set()).add(uid));
  }

  #remove(budget: StoredBudget): void {
    const { uid } = budget.metadata;
    this.#budgets.delete(uid);
    for (const term of termsOf(budget)) {
      const uids = this.#byTerm.get(term);
      uids?.delete(uid);
      if (uids?.size === 0) this.#byTerm.delete(term);
    }
  }

  /**
   * Returns the budgets of a VM, in the order in which all claim them: cluster-wide ones first, then by name.
   * `becomes`: the labels that it is about to get, if it counts as if it had either.
   */
  of(vm: Selected, becomes?: Labels): readonly StoredBudget[] {
    const either = becomes === undefined ? [vm] : [vm, { namespace: vm.namespace, ownLabels: becomes }];
    const found = new Set<string>();
    for (const scope of ['', vm.namespace])
      for (const { ownLabels } of either)
        for (const term of termsIn(ownLabels))
          for (const uid of this.#byTerm.get(keyOf(scope, term)) ?? NONE) found.add(uid);
    const budgets = [...found].map((uid) => this.#budgets.get(uid)!);
    return budgets.filter((budget) => either.some((one) => selects(budget, one, this.#labelsOf))).sort(inOrder);
  }
}

const NONE: readonly never[] = [];

const rankOf = ({ metadata: { namespace = '', name } }: StoredBudget): string => keyOf(namespace, name);
export const inOrder = (a: StoredBudget, b: StoredBudget): number => (rankOf(a) < rankOf(b) ? -1 : 1);

const keyOf = (scope: string, term: string): string => `${scope}\n${term}`;

function* termsIn(labels: Labels): Generator<string> {
  yield '';
  for (const [key, value] of Object.entries(labels)) {
    yield key;
    yield `${key}=${value}`;
  }
}

const termsOf = ({ metadata: { namespace = '' }, spec }: StoredBudget): string[] =>
  requiredBy(spec).map((term) => keyOf(namespace, term));

/** Returns texts of which each VM that the budget selects has one among its `termsIn`. */
function requiredBy({ selector: { matchLabels = {}, matchExpressions = [] } }: BudgetSpec): string[] {
  for (const [key, value] of Object.entries(matchLabels)) return [`${key}=${value}`];
  const among = matchExpressions.find(({ operator }) => operator === 'In');
  if (among !== undefined) return (among.values ?? []).map((value) => `${among.key}=${value}`);
  const existing = matchExpressions.find(({ operator }) => operator === 'Exists');
  return [existing?.key ?? ''];
}
