/**
 * An operation in Kubernetes: another one of its name is another operation. Everything that acts for it reads it from
 * the API server, by this.
 */
export interface OperationRef {
  namespace: string;
  name: string;
  uid: string;
}
