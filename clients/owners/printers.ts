import { withoutManagedFields, type Stored } from '../../api/objects.ts';
import { identityOf } from '../../api/owner-references.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ownerKindOf, type OwnerKind } from '../cli/kinds.ts';
import { printNote, print, serialize, table, widthsOf, type Format } from '../cli/print.ts';
import { columnsOfMembers, columnsOfOwners, headersOf, rowOf } from './columns.ts';
import type { Listing } from './listing.ts';
import { membersByOwner, type Member } from './members.ts';

/** Prints everything that was read at once, or object by object as they change. */
interface Printer {
  all: () => Promise<void>;
  one: (object: Stored) => Promise<void>;
}

interface PrintChoice {
  output?: Format;
  headers: boolean;
  showManagedFields?: boolean;
}

export function printerOf(listing: Listing, objects: Stored[], choice: PrintChoice): Printer {
  const { output } = choice;
  return output === undefined || output === 'wide'
    ? tablePrinter(listing, objects, choice)
    : serialPrinter(listing, objects, output, choice);
}

function serialPrinter(
  { names }: Listing,
  objects: Stored[],
  format: 'json' | 'yaml' | 'name',
  choice: PrintChoice,
): Printer {
  const shown = (object: Stored): Stored => (choice.showManagedFields === true ? object : withoutManagedFields(object));
  return {
    all: async () => {
      if (objects.length === 0 && format === 'name') return;
      print(await serialize(names.length === 1 ? shown(objects[0]!) : objects.map(shown), format));
    },
    one: async (object) => print((format === 'yaml' ? '---\n' : '') + (await serialize(shown(object), format))),
  };
}

function tablePrinter(listing: Listing, objects: Stored[], { output, headers: withHeaders }: PrintChoice): Printer {
  const { kube, resource, columns, namespace, names } = listing;
  const choice = { wide: output === 'wide', namespaces: namespace === undefined };
  const headers = headersOf(columns, choice);
  const rows = objects.map((object) => rowOf(columns, choice, object));
  const widths = widthsOf(headers, rows);
  let first = withHeaders;
  return {
    all: async () => {
      if (objects.length === 0)
        return printNote(`No resources found${namespace === undefined ? '' : ` in ${namespace} namespace`}.`);
      const owners = ownerKindOf(resource.kind);
      if (owners !== undefined && names.length > 0 && namespace !== undefined)
        return print((await treesOf(kube, owners, objects, { namespace, wide: choice.wide })).join('\n'));
      print(table(headers, rows, { headers: withHeaders }));
    },
    one: async (object) => {
      print(table(headers, [rowOf(columns, choice, object)], { headers: first, widths }));
      first = false;
    },
  };
}

/** Renders each object as a table of one row, and beneath it a table of its members. */
async function treesOf(
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
