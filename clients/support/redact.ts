import type { KubeObject } from '../../api/objects.ts';

/**
 * Fields that hold what a guest is set up with, passwords and keys among it, texts of patches to VMs, what containers
 * of Jobs and of sidecars are given, and what is sent to get an image or to probe a guest.
 */
const SECRET_FIELDS = new Set([
  'userData',
  'userDataBase64',
  'networkData',
  'networkDataBase64',
  'merge',
  'password',
  'token',
  'stringData',
  'env',
  'args',
  'command',
  'extraHeaders',
  'httpHeaders',
]);
const EDIT_VALUES = new Set(['was', 'is']);
/** A URL's user and password, and its query: images are often got by signed URLs, whose query is the secret. */
const SECRET_IN_URL = /(?<=\b[a-z][a-z0-9+.-]*:\/\/)[^\s/?#@"']+@|(?<=\b[a-z][a-z0-9+.-]*:\/\/[^\s?"']+\?)[^\s"']+/gi;
/** Any client may write annotations: only known ones are kept. */
const KEPT_ANNOTATIONS = /^([a-z0-9-]+\.)*(drover\.dev|kubevirt\.io|kubernetes\.io)\//;
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const LONGEST = 4_000;

const removed = (text: string): string => `(removed: ${text.length} characters)`;

/** Returns the object without what may be secret in it, and without who manages its fields. */
export function redacted(object: KubeObject): KubeObject {
  const {
    managedFields: _,
    annotations,
    ...metadata
  } = object.metadata as KubeObject['metadata'] & {
    managedFields?: unknown;
  };
  const { metadata: __, ...rest } = object;
  return {
    ...(withoutSecrets(rest) as KubeObject),
    metadata: { ...metadata, ...(annotations === undefined ? {} : { annotations: keptOf(annotations) }) },
  };
}

const keptOf = (annotations: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(annotations).map(([name, value]) => [
      name,
      KEPT_ANNOTATIONS.test(name) && name !== LAST_APPLIED ? textOf(value) : removed(value),
    ]),
  );

function withoutSecrets(value: unknown): unknown {
  if (typeof value === 'string') return textOf(value);
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return value;
  const { metadata, ...fields } = value as Partial<KubeObject> & { path?: unknown };
  // What a change of a VM has set, and what was there before: the names of the fields are in the path.
  const isEdit = Array.isArray(fields.path);
  const kept = Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      (SECRET_FIELDS.has(name) || (isEdit && EDIT_VALUES.has(name))) && field !== null
        ? removed(typeof field === 'string' ? field : JSON.stringify(field))
        : withoutSecrets(field),
    ]),
  );
  // A template's metadata has annotations, too.
  return metadata === undefined ? kept : { ...redacted({ ...kept, metadata }) };
}

/** Keys and certificates are long, or say what they are. */
const textOf = (text: string): string =>
  text.length > LONGEST || text.includes('-----BEGIN ')
    ? removed(text)
    : withJson(text).replace(SECRET_IN_URL, (secret) => removed(secret));

/** drover keeps some of what it knows of a VM as JSON in annotations. */
function withJson(text: string): string {
  if (!text.startsWith('{') && !text.startsWith('[')) return text;
  try {
    return JSON.stringify(withoutSecrets(JSON.parse(text)));
  } catch {
    return text;
  }
}
