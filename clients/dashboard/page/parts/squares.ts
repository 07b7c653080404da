import type { VmCell } from '../../contract/fleet.ts';
import { hrefOf } from '../pure/route.ts';
import { cellName, movedTo, type Row } from '../pure/rows.ts';

/** What a row of squares shows. */
interface SquaresInput {
  row: Row;
  /** What it is called for users who cannot see it. */
  name: string;
  namespace: string;
}

/**
 * What a frame has room for, in new squares: the browser lays them out and paints them. One that changes has its line
 * painted again. The rest follows in the next frame.
 */
const FRAME_BUDGET = 240;
const CHANGE = 12;
/** Rows so near to what is seen are drawn, in pixels. */
const NEAR = '400px';

const waiting = new Set<VmSquares>();
let frame = 0;

/** Draws what has changed, as much as a frame has time for. */
function drawSome(): void {
  let budget = FRAME_BUDGET;
  frame = 0;
  for (const one of waiting) {
    if (budget <= 0) break;
    waiting.delete(one);
    budget = one.draw(budget);
  }
  if (waiting.size > 0) frame = requestAnimationFrame(drawSome);
}

const near = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) (target as VmSquares).isNear = isIntersecting;
  },
  { rootMargin: NEAR },
);

const widths = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) (target as VmSquares).width = contentRect.width;
});

/**
 * `<vm-squares>`: a grid of VMs, one square each, in as many lines as it takes. It is one stop for the Tab key; arrows
 * move in it, Enter opens a VM. It draws only while it is near to what is seen, and then only what has changed. A line
 * is laid out and painted by itself: a square that changes costs its line, and not the card.
 */
class VmSquares extends HTMLElement {
  #input: SquaresInput | null = null;
  #squares: HTMLElement[] = [];
  /** What each square shows; undefined for a VM that is missing. */
  #drawn: (VmCell | undefined)[] = [];
  #isNear = false;
  #width = 0;
  #columns = 1;
  #focused = 0;

  constructor() {
    super();
    this.addEventListener('keydown', (event) => this.#key(event));
    this.addEventListener('click', (event) => this.#open(event));
    this.addEventListener('focusin', ({ target }) => this.#rove(this.#indexOf(target)));
  }

  connectedCallback(): void {
    this.setAttribute('role', 'grid');
    // Until its squares are drawn, it is not a grid without any.
    if (this.#squares.length === 0) this.ariaBusy = 'true';
    near.observe(this);
    widths.observe(this);
  }

  disconnectedCallback(): void {
    near.unobserve(this);
    widths.unobserve(this);
    waiting.delete(this);
  }

  set input(input: SquaresInput) {
    this.#input = input;
    this.setAttribute('aria-label', input.name);
    this.#later();
  }

  set isNear(isNear: boolean) {
    this.#isNear = isNear;
    this.#later();
  }

  set width(width: number) {
    this.#width = width;
    this.#later();
  }

  #later(): void {
    if (!this.#isNear || this.#width === 0 || this.#input === null) return;
    waiting.add(this);
    if (frame === 0) frame = requestAnimationFrame(drawSome);
  }

  /** Draws what fits, and returns the room that is left. What does not fit follows. */
  draw(budget: number): number {
    const { cells, missing } = this.#input!.row;
    const wanted = cells.length + missing;
    this.#squares.length = Math.min(this.#squares.length, wanted);
    this.#drawn.length = this.#squares.length;
    let remaining = budget;
    for (const [index, square] of this.#squares.entries()) {
      if (this.#drawn[index] === cells[index]) continue;
      if (remaining <= 0) break;
      remaining -= CHANGE;
      this.#drawn[index] = drawn(square, cells[index]);
    }
    for (; remaining > 0 && this.#squares.length < wanted; remaining--) {
      const square = withRole('span', 'gridcell');
      this.#drawn.push(drawn(square, cells[this.#squares.length]));
      this.#squares.push(square);
    }
    this.#layOut(wanted);
    this.#rove(Math.min(this.#focused, Math.max(cells.length - 1, 0)));
    if (remaining > 0) this.ariaBusy = null;
    else waiting.add(this);
    return remaining;
  }

  /** Puts the squares into lines as they fit. */
  #layOut(wanted: number): void {
    const { size, gap } = sizeOf(wanted);
    this.style.setProperty('--size', `${size}px`);
    this.style.setProperty('--gap', `${gap}px`);
    this.#columns = Math.max(1, Math.floor((this.#width + gap) / (size + gap)));
    const lines = Math.ceil(this.#squares.length / this.#columns);
    const { activeElement } = document;
    while (this.childElementCount > lines) this.lastElementChild!.remove();
    for (let index = 0; index < lines; index++) {
      const line = this.children[index] ?? this.appendChild(withRole('div', 'row'));
      const its = this.#squares.slice(index * this.#columns, (index + 1) * this.#columns);
      if (line.childElementCount !== its.length || line.firstElementChild !== its[0]) line.replaceChildren(...its);
    }
    // A square that moves to another line loses the focus.
    if (document.activeElement !== activeElement && this.#indexOf(activeElement) !== -1)
      (activeElement as HTMLElement).focus({ preventScroll: true });
  }

  #indexOf(target: EventTarget | null): number {
    return this.#squares.indexOf(target as HTMLElement);
  }

  /** Makes a square the one that the Tab key comes to. */
  #rove(index: number): void {
    if (this.#drawn[index] === undefined) return;
    if (index !== this.#focused) this.#squares[this.#focused]?.removeAttribute('tabindex');
    this.#focused = index;
    this.#squares[index]!.tabIndex = 0;
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Enter') return this.#open(event);
    const count = this.#drawn.filter((cell) => cell !== undefined).length;
    const to = movedTo(event.key, this.#focused, { count, columns: this.#columns });
    if (to === null) return;
    event.preventDefault();
    const square = this.#squares[to]!;
    square.tabIndex = -1;
    square.focus();
  }

  #open(event: MouseEvent | KeyboardEvent): void {
    const [name] = this.#drawn[this.#indexOf(event.target)] ?? [];
    if (name === undefined || this.#input === null || getSelection()?.isCollapsed === false) return;
    const href = hrefOf(`vm/${this.#input.namespace}/${name}`);
    if (event.ctrlKey || event.metaKey) open(href, '_blank', 'noopener');
    else location.hash = href;
  }
}

/** Squares are smaller where there are many; in pixels. */
function sizeOf(count: number): { size: number; gap: number } {
  if (count <= 60) return { size: 20, gap: 4 };
  return count <= 200 ? { size: 16, gap: 3 } : { size: 12, gap: 2 };
}

function withRole(tag: 'div' | 'span', role: string): HTMLElement {
  const element = document.createElement(tag);
  element.setAttribute('role', role);
  return element;
}

/** Draws a square. Without a cell, its VM is missing. */
function drawn(square: HTMLElement, cell: VmCell | undefined): VmCell | undefined {
  square.dataset['s'] = cell === undefined ? 'none' : cell[1];
  square.setAttribute('aria-label', cell === undefined ? 'missing' : cellName(cell));
  if (cell === undefined) square.removeAttribute('tabindex');
  return cell;
}

customElements.define('vm-squares', VmSquares);
