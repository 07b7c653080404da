import { OWNER_KINDS, type OwnerKind } from '../../api/owner-kinds.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { OwnerKey } from './owner-key.ts';

type Kind = Partial<OwnerKey>;

/** Returns the kind of an owner; keys without a kind are those of pools. */
export const kindOfOwner = ({ kind }: Kind): OwnerKind => OWNER_KINDS[kind ?? 'VirtualMachinePool'];

/** A resource version of an owner, as plans wait for it. */
export const versionsOf = (key: Kind, version: string | undefined): ResourceVersions => ({
  [kindOfOwner(key).cache]: version,
});

/** A resource version of one of its members. */
export const memberVersions = (key: Kind, version: string | undefined): ResourceVersions => ({
  [kindOfOwner(key).members.cache]: version,
});
