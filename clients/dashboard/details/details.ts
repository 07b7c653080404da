import type { Stored } from '../../../api/objects.ts';
import { VirtualMachines } from '../../../api/resources.ts';
import type { Act } from '../../../decisions/history/act.ts';
import { Failure } from '../../cli/failure.ts';
import { ownerKindOf, Pools } from '../../cli/kinds.ts';
import type { Owner } from '../../cli/owner.ts';
import { NEEDS_A_USER, nodeViewOf } from '../../drain/node-status.ts';
import { workflowIdOf, workflowUrl } from '../../owners/progress.ts';
import { knownRevisions } from '../../pool/revisions.ts';
import type { Session } from '../../session/session.ts';
import type { NodeDetails, OwnerDetails, VmDetails } from '../contract/requests.ts';
import type { Card } from '../fleet/card.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Rights } from '../fleet/rights.ts';
import { vmActions } from '../view/actions.ts';
import { creationOf, newestFirst, readHistory } from './history.ts';
import { Kept, soon } from './kept.ts';
import type { Read } from './paged.ts';
import { readVm } from './vm-details.ts';

/** For how long what Temporal has on record of an object is shown to all tabs, in milliseconds. */
const ACTS_MS = 15_000;

/** What is read when a view of the page is opened, with the rights of the user. */
export class Details {
  readonly #session: Session;
  readonly #fleet: Fleet;
  readonly #rights: Rights;
  readonly #acts = new Kept<Read<Act>>(ACTS_MS);

  constructor(session: Session, fleet: Fleet, rights: Rights) {
    this.#session = session;
    this.#fleet = fleet;
    this.#rights = rights;
  }

  async vm(segments: readonly string[]): Promise<VmDetails> {
    const [namespace, name] = namesIn(segments, 2) as [string, string];
    const kube = await this.#session.kube();
    const card = this.#fleet.cardOf(`${namespace}/${name}`);
    const pool = card?.pool ?? undefined;
    const subject = { resource: VirtualMachines, namespace, name, isMember: (vm: string) => vm === name };
    const [parts, past, temporalUrl] = await Promise.all([
      readVm(kube, namespace, name, {
        card: card?.id ?? '',
        pool,
        isNodeLost: (node) => this.#fleet.isNodeLost(node),
        budgets: this.#fleet.budgets(),
      }),
      readHistory(this.#session, subject, [], this.#acts),
      this.#urlOf(card?.owner, card?.kind ?? null),
    ]);
    const wait = waitOf(card, name, kube.clock.now());
    return {
      namespace,
      name,
      card: card?.id ?? `none/${namespace}`,
      ...parts,
      wait,
      // It has the reason that KubeVirt gives.
      explanation: parts.explanation.filter((sentence) => wait?.sentence.includes(sentence) !== true),
      history: newestFirst([...parts.history, ...past.history]),
      unknown: [...parts.unknown, ...past.unknown],
      actions: vmActions(pool, name, this.#rights.whyNot('pools', namespace)),
      temporalUrl,
    };
  }

  async owner(segments: readonly string[]): Promise<OwnerDetails> {
    const [kind, namespace, name] = namesIn(segments, 3) as [string, string, string];
    const owner = ownerKindOf(kind);
    if (owner === undefined) throw new Failure(`unknown kind ${kind}`);
    const kube = await this.#session.kube();
    const object = await kube.get<Owner>(owner.resource, { namespace, name });
    const pool = this.#fleet.poolOf(namespace, name);
    const revisions = owner === Pools && pool !== undefined ? await knownRevisions(kube, pool) : [];
    const subject = {
      resource: owner.resource,
      namespace,
      name,
      isMember: (vm: string) => owner.hasNamed(name, vm),
    };
    const [past, temporalUrl] = await Promise.all([
      readHistory(this.#session, subject, revisions, this.#acts),
      this.#urlOf(object, owner.resource.kind),
    ]);
    const history = newestFirst([creationOf(`the ${owner.noun}`, object.metadata), ...past.history]);
    return { ...past, history, temporalUrl };
  }

  async node(segments: readonly string[]): Promise<NodeDetails> {
    const [node] = namesIn(segments, 1) as [string];
    const { items, ...known } = await nodeViewOf(await this.#session.kube(), node);
    return { ...known, items: items.map((item) => ({ ...item, needsPerson: NEEDS_A_USER.has(item.state) })) };
  }

  /** Null if it is not known, or not soon. */
  async #urlOf(owner: Stored<Owner> | undefined, kind: string | null): Promise<string | null> {
    const of = ownerKindOf(kind ?? undefined);
    if (owner === undefined || of === undefined || (await this.#session.temporalUi()) === undefined) return null;
    return soon(workflowIdOf(this.#session, of, owner).then((id) => workflowUrl(this.#session, id)));
  }
}

function waitOf(card: Card | undefined, vm: string, now: number): VmDetails['wait'] {
  const wait = card?.waitOf(vm) ?? null;
  if (wait === null) return null;
  const { sentence, since, lateAt } = wait;
  const isLate = lateAt !== null && lateAt <= now;
  return { sentence, since: since === null ? null : new Date(since).toISOString(), isLate };
}

/** Throws `Failure` if there are not so many words. */
export function namesIn(segments: readonly string[], count: number): readonly string[] {
  if (segments.length === count && segments.every((segment) => segment !== '')) return segments;
  throw new Failure('the address names no object');
}
