import { closest } from '../closest.ts';
import { MOST_DEPTH, tooDeep } from '../depth.ts';
import { API_VERSION } from '../names.ts';
import { plainText } from '../plain-text.ts';
import type { VirtualMachinePool } from '../pool/pool.ts';
import type { Finding } from './check.ts';
import { readDroverPool, readProposedPool, type Reader, type Reading } from './drover-pool.ts';
import { isObject, type Json } from './kept-by-server.ts';
import { readKubeVirtPool } from './kubevirt-pool.ts';
import { ManifestErrors, pathIn, formatPath, type Problem } from './problem.ts';
import { readDocuments, type SourceDocument } from './yaml.ts';

export { ManifestErrors, type Problem } from './problem.ts';

/** An object to apply, and where it was written. */
export interface Manifest {
  object: VirtualMachinePool;
  source: string;
  /** Counted from 1. */
  document: number;
  line: number;
  /** What was converted or changed, and what is allowed but probably unintended, one sentence each. */
  notes: string[];
  /** Returns the line of the field that a sentence about the object names, or of its nearest existing parent. */
  lineAbout: (sentence: string) => number;
  /** The same for a sentence about a VM made from its template. */
  lineAboutVm: (sentence: string) => number;
}

export interface ManifestFile {
  text: string;
  /** The file's name, as errors show it. */
  source: string;
}

/** Readers of the kinds that `drover apply` accepts, by `<apiVersion> <kind>`. */
const READERS: Record<string, Reader> = {
  [`${API_VERSION} VirtualMachinePool`]: readDroverPool,
  'kubevirt.io/v1 VirtualMachinePool': readProposedPool,
  'pool.kubevirt.io/v1alpha1 VirtualMachinePool': readKubeVirtPool,
  'pool.kubevirt.io/v1beta1 VirtualMachinePool': readKubeVirtPool,
};

/** Parses the objects of one YAML or JSON text. Throws `ManifestErrors` with all problems of all documents. */
export const parseManifests = (text: string, source: string): Manifest[] => readManifests([{ text, source }]);

/** Parses the objects of many files. Throws `ManifestErrors` with all problems of all files. */
export function readManifests(files: readonly ManifestFile[]): Manifest[] {
  const manifests: Manifest[] = [];
  const problems: Problem[] = [];
  for (const { text, source } of files) {
    const documents = readDocuments(text);
    if (documents.length === 0) problems.push({ source, document: 0, path: '', message: formatEmpty(text) });
    for (const document of documents) readDocument(document, source, manifests, problems);
  }
  problems.push(...writtenTwice(manifests));
  if (problems.length > 0) throw new ManifestErrors(problems);
  return manifests;
}

function readDocument(document: SourceDocument, source: string, manifests: Manifest[], problems: Problem[]): void {
  const { number, value, faults, lineOf, written } = document;
  problems.push(...faults.map((fault) => ({ source, document: number, path: '', ...fault })));
  if (faults.length > 0) return;
  for (const { object, above } of objectsIn(value)) {
    const reading = read(object, (path) => written([...above, ...path]));
    if ('findings' in reading) {
      const found = reading.findings.map(({ path, message }) => {
        const full = [...above, ...path];
        return { source, document: number, line: lineOf(full), path: formatPath(full), message };
      });
      problems.push(...found.sort((one, other) => one.line - other.line));
    } else {
      const lineAt = (path: PropertyKey[]): number => lineOf([...above, ...asNamedIn(object, path)]);
      manifests.push({
        ...reading,
        notes: reading.notes.map(plainText),
        source,
        document: number,
        line: lineOf(above),
        lineAbout: (sentence) => lineAt(pathIn(sentence)),
        lineAboutVm: (sentence) => lineAt(['spec', 'template', ...pathIn(sentence)]),
      });
    }
  }
}

/** KubeVirt's own pools have another name for the template, which holds most of the fields. */
function asNamedIn(object: unknown, [spec, template, ...rest]: PropertyKey[]): PropertyKey[] {
  const holder = isObject(object) ? object['spec'] : undefined;
  const isTheirs = template === 'template' && isObject(holder) && 'virtualMachineTemplate' in holder;
  return [spec, isTheirs ? 'virtualMachineTemplate' : template, ...rest].filter((part) => part !== undefined);
}

/** Returns the document itself, or the items of a list as `kubectl get -o yaml` prints it. */
function objectsIn(value: unknown): { object: unknown; above: PropertyKey[] }[] {
  if (!isObject(value) || !Array.isArray(value['items']) || !String(value['kind']).endsWith('List'))
    return [{ object: value, above: [] }];
  return value['items'].map((object: unknown, index) => ({ object, above: ['items', index] }));
}

function read(object: unknown, written: (path: readonly PropertyKey[]) => string | undefined): Reading {
  if (!isObject(object))
    return {
      findings: [{ path: [], message: 'this is no Kubernetes object: it has no apiVersion, kind and metadata' }],
    };
  const { apiVersion, kind } = object;
  const missing = (['apiVersion', 'kind'] as const).filter(
    (key) => typeof object[key] !== 'string' || object[key] === '',
  );
  const deep = tooDeep(object);
  if (deep !== null)
    return {
      findings: [{ path: deep, message: `is nested deeper than ${MOST_DEPTH} levels: nothing of KubeVirt is` }],
    };
  if (missing.length > 0)
    return { findings: missing.map((key) => ({ path: [key], message: formatMissing(key, object) })) };
  const reader = READERS[`${String(apiVersion)} ${String(kind)}`];
  return reader === undefined ? { findings: [unknownKind(String(apiVersion), String(kind))] } : reader(object, written);
}

const formatMissing = (key: 'apiVersion' | 'kind', object: Json): string =>
  `${key in object ? 'must be text' : 'is missing'}: a pool has apiVersion: ${API_VERSION} and kind: VirtualMachinePool`;

function unknownKind(apiVersion: string, kind: string): Finding {
  const known = Object.keys(READERS).map((key) => key.split(' ') as [string, string]);
  const versions = known.filter(([, name]) => name === kind).map(([version]) => version);
  const ofItsGroup = versions.filter((version) => version.startsWith(`${apiVersion.split('/')[0]}/`));
  const near = closest(
    kind,
    known.map(([, name]) => name),
  );
  if (versions.length > 0) {
    const meant = ofItsGroup.at(-1) ?? closest(apiVersion, versions) ?? API_VERSION;
    return { path: ['apiVersion'], message: `${kind} is not known in ${apiVersion}; did you mean ${meant}?` };
  }
  if (near !== undefined) return { path: ['kind'], message: `${kind} is not known; did you mean ${near}?` };
  return {
    path: ['kind'],
    message: `drover applies VirtualMachinePools, not ${kind} (${apiVersion}): use kubectl apply for it`,
  };
}

function formatEmpty(text: string): string {
  return text.trim() === ''
    ? 'the file is empty: it should hold a VirtualMachinePool'
    : 'the file holds no object, only comments or separators';
}

function writtenTwice(manifests: readonly Manifest[]): Problem[] {
  const first = new Map<string, Manifest>();
  return manifests.flatMap((manifest) => {
    const { namespace = '', name } = manifest.object.metadata;
    const earlier = first.get(`${namespace}/${name}`);
    first.set(`${namespace}/${name}`, earlier ?? manifest);
    if (earlier === undefined) return [];
    const { source, document, line } = manifest;
    const message = `the pool ${name} is there twice: first at ${earlier.source}:${earlier.line}`;
    return [{ source, document, line, path: 'metadata.name', message }];
  });
}
