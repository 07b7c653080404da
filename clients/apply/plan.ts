import { readManifests, type Manifest, type ManifestFile } from '../../api/manifest/manifest.ts';
import type { KubeObject } from '../../api/objects.ts';
import { Failure, UsageError } from '../cli/failure.ts';
import { appliedKindOf } from '../cli/kinds.ts';
import type { ManifestOptions } from '../cli/options.ts';
import type { Session } from '../session/session.ts';
import type { FieldLocations, Planned } from './apply.ts';
import { readManifestFiles } from './manifests.ts';

export interface Plan {
  planned: Planned[];
  /** Remarks on what was converted, and on what is seldom intended. */
  notes: string[];
}

interface NamespaceChoice {
  /** From --namespace: as in kubectl, a manifest that names another namespace is refused. */
  given: string | undefined;
  byDefault: string;
}

/**
 * Reads the manifests that `-f` names. Throws as `planOf` does, `Failure` for what can't be read, and `UsageError`
 * without any `-f`.
 */
export async function readPlan(session: Session, { filename, recursive }: ManifestOptions): Promise<Plan> {
  if (filename === undefined) throw new UsageError('which manifests? Give -f FILE, a folder, or -');
  const files = await readManifestFiles(filename, recursive === true);
  return planOf(files, { given: session.globals.namespace, byDefault: await session.namespace() });
}

/**
 * Parses all manifests. Throws `ManifestErrors`, or an `AggregateError` with a `Failure` for each namespace that
 * differs.
 */
export function planOf(files: ManifestFile[], namespace: NamespaceChoice): Plan {
  const manifests = readManifests(files);
  const strangers = manifests.filter(({ object }) => isElsewhere(object.metadata.namespace, namespace.given));
  if (strangers.length > 0)
    throw new AggregateError(strangers.map((manifest) => elsewhere(manifest, namespace.given!)));
  return {
    planned: manifests.map((manifest) => ({
      kind: appliedKindOf(manifest.object.kind),
      object: inNamespace(manifest.object as unknown as KubeObject, namespace.byDefault),
      where: locationsIn(manifest),
    })),
    notes: manifests.flatMap((manifest) =>
      manifest.notes.map((note) => `${locationsIn(manifest).about(note)}: ${note}`),
    ),
  };
}

const locationsIn = ({ source, lineAbout, lineAboutVm }: Manifest): FieldLocations => ({
  about: (sentence) => `${source}:${lineAbout(sentence)}`,
  aboutVm: (sentence) => `${source}:${lineAboutVm(sentence)}`,
});

const isElsewhere = (named: string | undefined, given: string | undefined): boolean =>
  named !== undefined && given !== undefined && named !== given;

function elsewhere(manifest: Manifest, given: string): Failure {
  const { kind, metadata } = manifest.object;
  const { name, namespace } = metadata;
  const message = `${appliedKindOf(kind).noun} ${name} is for namespace ${namespace}, and --namespace says ${given}: leave one of them out`;
  return new Failure(`${locationsIn(manifest).about('metadata.namespace')}: ${message}`);
}

const inNamespace = (object: KubeObject, namespace: string): KubeObject =>
  appliedKindOf(object.kind!).resource.namespaced ? { ...object, metadata: { namespace, ...object.metadata } } : object;
