import type { BudgetSpec } from '../../../api/budgets/budget.ts';
import { listed } from '../../../api/lib/listed.ts';
import type { VmView } from '../../views/vm.ts';
import type { VmiView } from '../../views/vmi.ts';

/** Returns the labels of a node; undefined if it is not known. */
export type LabelsOfNode = (node: string) => Readonly<Record<string, string>> | undefined;

/**
 * Returns in which domain the VM is: by the node of its VMI, or by the label that its node must have; null if that is
 * not known. All nodes without the label are one domain.
 */
export function domainOf(
  { topology }: BudgetSpec,
  vm: VmView,
  vmi: VmiView | undefined,
  labelsOf: LabelsOfNode,
): string | null {
  if (topology === undefined) return null;
  const { key } = topology;
  const node = vmi?.node ?? null;
  const labels = node === null ? undefined : labelsOf(node);
  return labels === undefined ? (vm.nodeSelector[key] ?? null) : (labels[key] ?? '');
}

/** The domains of VMs that are down, or may be at any moment. */
export class DownDomains {
  readonly #spec: BudgetSpec;
  /** By `namespace/name`; null if it is not known. */
  readonly #domains: Map<string, string | null>;
  /** How many VMs are down of which not even the name is known. */
  readonly #nameless: number;

  constructor(spec: BudgetSpec, domains: Iterable<readonly [string, string | null]>, nameless: number) {
    this.#spec = spec;
    this.#domains = new Map(domains);
    this.#nameless = nameless;
  }

  add(key: string, domain: string | null): void {
    this.#domains.set(key, domain ?? this.#domains.get(key) ?? null);
  }

  /**
   * Says why a VM of this domain must not go down; null if it may. Any VM whose domain is not known may be in another.
   */
  whyNot(key: string, domain: string | null): string | null {
    const { topology } = this.#spec;
    if (topology === undefined) return null;
    const others = this.#names(key);
    const size = others.size + (domain !== null && others.has(domain) ? 0 : 1);
    return size > topology.maxDomains ? this.#format(others) : null;
  }

  /** Says why VMs of other domains must not go down; null if they may. */
  whyFull(): string | null {
    const all = this.#names(null);
    return all.size >= (this.#spec.topology?.maxDomains ?? Infinity) ? this.#format(all) : null;
  }

  #names(except: string | null): ReadonlySet<string> {
    const names = new Set<string>();
    for (const [key, domain] of this.#domains) if (key !== except) names.add(domain ?? unknown(key));
    for (let n = 0; n < this.#nameless; n++) names.add(unknown(String(n)));
    return names;
  }

  #format(names: ReadonlySet<string>): string {
    const { key, maxDomains } = this.#spec.topology!;
    const known = [...names].filter((name) => !name.startsWith(UNKNOWN)).map((name) => name || `nodes without ${key}`);
    const rest = names.size - known.length;
    const which = listed([...known.toSorted(), ...(rest > 0 ? [`${rest} that are not known`] : [])]);
    return `VMs are down or claimed in these domains: ${which}; topology.maxDomains is ${maxDomains}`;
  }
}

/** No value of a label begins so. */
const UNKNOWN = '?';
const unknown = (name: string): string => `${UNKNOWN}${name}`;
