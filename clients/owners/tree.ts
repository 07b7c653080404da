import type { Stored } from '../../api/objects.ts';
import { identityOf } from '../../api/owner-references.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { OwnerKind } from '../cli/kinds.ts';
import { table } from '../cli/print.ts';
import { columnsOfMembers, columnsOfOwners, headersOf, rowOf } from './columns.ts';
import { membersByOwner, type Member } from './members.ts';

/** Renders each object as a table of one row, and beneath it a table of its members. */
export async function treesOf(
  kube: KubeClient,
  kind: OwnerKind,
  owners: Stored[],
  { namespace, wide }: { namespace: string; wide: boolean },
): Promise<string[]> {
  const { resource } = kind.members;
  const { items } = await kube.list<Member>(resource, { namespace });
  const members = membersByOwner(items, kind);
  const choice = { wide, namespaces: false };
  const [ownColumns, memberColumns] = [columnsOfOwners(kind), columnsOfMembers(kind)];
  return owners.flatMap((owner, index) => {
    const owned = members(identityOf(owner));
    const rows = owned.map((member) => rowOf(memberColumns, choice, member));
    return [
      ...(index === 0 ? [] : ['']),
      ...table(headersOf(ownColumns, choice), [rowOf(ownColumns, choice, owner)]),
      ...(rows.length === 0 ? [] : ['', ...table(headersOf(memberColumns, choice), rows).map((line) => `  ${line}`)]),
    ];
  });
}
