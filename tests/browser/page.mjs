// Drives the page of `mha trace --format html` as a person would: mouse, keyboard, touch, controls; without JavaScript;
// with text that tries to be more than text; and with axe-core's rules for accessible pages, in light and dark.
//
//   npm ci && MHA=../../target/debug/mha CHROMIUM=/usr/bin/chromium npm test
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const mha = resolve(process.env.MHA ?? "../../target/debug/mha");
const folder = mkdtempSync(join(tmpdir(), "mha-pages-"));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});

function written(name, ...args) {
  const file = join(folder, `${name}.html`);
  execFileSync(mha, ["trace", ...args, "--format", "html", "--output", file, "--force"], { cwd: folder });
  return file;
}

/** Opens a file; any request but the file itself, any error, and any complaint of the console fail the test. */
async function open(file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1300, height: 900 }, ...options });
  const page = await context.newPage();
  const wrong = [];
  const address = pathToFileURL(file).href;
  page.on("request", (request) => {
    const url = request.url();
    if (url !== address && !url.startsWith("data:")) wrong.push(`request ${url}`);
  });
  page.on("pageerror", (error) => wrong.push(`error ${error.message}`));
  page.on("console", (message) => wrong.push(`console ${message.text()}`));
  page.on("dialog", (dialog) => { wrong.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
  await page.goto(address);
  const close = async () => {
    await context.close();
    assert.deepEqual(wrong, [], "the page is quiet and alone");
  };
  return { page, close };
}

/** A number in a table, counted from 1 as the page shows it. */
const td = (page, step, row, column) =>
  page.locator(`table[data-step="${step}"] tbody tr:nth-child(${row}) td:nth-child(${column + 1})`);

/** Which numbers are lit, as `step[row,column]` of the page. */
const lit = (page) => page.evaluate(() =>
  [...document.querySelectorAll("td.lit")].map((cell) =>
    `${cell.closest("table").dataset.step}[${cell.parentNode.rowIndex},${cell.cellIndex}]`).sort());

const panel = (page) => page.locator("#derivation").innerText();
const heading = (page) => page.locator("#derivation h2").innerText();

const tests = {
  // By hand: q₁ and k₁ of token c are [1, 1]; (1·1 + 1·1) / √2 = 1.4142.
  async "pointing at a score lights its query and its key"() {
    const { page, close } = await open(written("two"));
    await td(page, "head.1.scores", 3, 3).hover();
    assert.deepEqual(await lit(page), ["head.1.k[3,1]", "head.1.k[3,2]", "head.1.q[3,1]", "head.1.q[3,2]"]);
    const said = await panel(page);
    assert.match(said, /head\.1\.scores\[3,3\] = 1\.4142/);
    assert.match(said, /scores of head 1, query c, key c/);
    assert.match(said, /= \(q\[3,1\]·k\[3,1\] \+ q\[3,2\]·k\[3,2\]\) · 1\/√2/);
    assert.match(said, /= \(1·1 \+ 1·1\) · 1\/√2/);
    assert.match(said, /row 3 of head\.1\.q \(query c\): 1, 1/);
    assert.match(said, /row 3 of head\.1\.k \(key c\): 1, 1/);
    await page.mouse.move(2, 2);
    assert.deepEqual(await lit(page), []);
    assert.match(await panel(page), /Point at a number/);
    await close();
  },

  async "a click holds a number, and its sources lead down to the input"() {
    const { page, close } = await open(written("two"));
    await td(page, "head.1.scores", 3, 1).click();
    await td(page, "head.2.scores", 1, 1).hover();
    assert.match(await heading(page), /^head\.1\.scores\[3,1\] = 0\.7071$/);
    await page.locator("#derivation a", { hasText: "k[1,2]" }).click();
    assert.match(await heading(page), /^head\.1\.k\[1,2\] = 0$/);
    await page.locator("#derivation a", { hasText: "k[1,2]" }).last().click();
    assert.match(await heading(page), /^k\[1,2\] = 0$/);
    await page.locator("#derivation a", { hasText: "w_k[3,2]" }).click();
    assert.match(await panel(page), /w_k\[3,2\] = 0[\s\S]*Given by the lesson/);
    assert.ok(await td(page, "w_k", 3, 2).evaluate((cell) => cell.classList.contains("here")));
    await page.locator(".trail a", { hasText: "head.1.scores[3,1]" }).click();
    assert.match(await heading(page), /^head\.1\.scores\[3,1\]/);
    await page.getByRole("button", { name: "Let go (Esc)" }).click();
    await page.mouse.move(2, 2);
    assert.equal(await page.locator("td.held").count(), 0);
    await close();
  },

  async "a click on a name outside the sources' rows still finds the row of scores"() {
    const { page, close } = await open(written("two"));
    await td(page, "head.1.weights", 3, 1).click();
    assert.deepEqual(await lit(page), ["head.1.scores[3,1]", "head.1.scores[3,2]", "head.1.scores[3,3]"]);
    assert.match(await panel(page), /m = max\(scores\[3,1\], scores\[3,2\], scores\[3,3\]\) = 1\.4142/);
    await close();
  },

  async "the keyboard does all that a mouse does"() {
    const { page, close } = await open(written("two"));
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    assert.match(await heading(page), /^x\[1,1\] = 1$/);
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    assert.match(await heading(page), /^x\[2,2\] = 1$/);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    assert.match(await heading(page), /^x\[1,2\]/, "the edge of the table holds");
    await page.keyboard.press("Control+End");
    assert.match(await heading(page), /^x\[3,4\]/);
    await page.keyboard.press("Home");
    assert.match(await heading(page), /^x\[3,1\]/);
    await page.keyboard.press("Tab");
    assert.match(await heading(page), /^w_q\[1,1\]/, "a table is one stop");
    await page.keyboard.press("Shift+Tab");
    assert.match(await heading(page), /^x\[3,1\]/, "and remembers where one was");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("td.held").count(), 1);
    await page.keyboard.press("ArrowRight");
    assert.match(await heading(page), /^q\[1,1\]/, "what is held stays");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    assert.match(await heading(page), /^x\[1,1\]/, "the first source of q[1,1]");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("td.held").count(), 0);
    assert.deepEqual(await page.evaluate(() => document.activeElement.closest("table")?.dataset.step), "x");
    await page.keyboard.press("Space");
    assert.equal(await page.locator("td.held").count(), 1);
    await page.keyboard.press("Space");
    assert.equal(await page.locator("td.held").count(), 0);
    await close();
  },

  async "a finger can do it on a phone"() {
    const { page, close } = await open(written("two"), { viewport: { width: 400, height: 800 }, hasTouch: true });
    await td(page, "head.1.weights", 3, 3).tap();
    assert.match(await heading(page), /^head\.1\.weights\[3,3\] = 0\.5035$/);
    const [cell, bar] = [await td(page, "head.1.weights", 3, 3).boundingBox(), await page.locator("#panel").boundingBox()];
    assert.ok(cell.y + cell.height <= bar.y, "the number is not hidden behind its derivation");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 400, `the page is ${wide} wide`);
    await close();
  },

  async "tables turn, and what is lit turns with them"() {
    const { page, close } = await open(written("cross", "cross-attention"));
    const before = await page.locator("table[data-step='head.1.scores']").evaluate((table) =>
      [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent)));
    await page.getByLabel("column", { exact: true }).check();
    const after = await page.locator("table[data-step='head.1.scores']").evaluate((table) =>
      [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent)));
    assert.deepEqual(after, before[0].map((_, column) => before.map((row) => row[column])));
    const formula = page.locator("[id='head.1.scores'] .formula");
    assert.match(await formula.innerText(), /K₁ᵀQ₁/);
    assert.deepEqual(await page.locator("table[data-step='head.1.scores'] tbody th").evaluateAll((all) =>
      all.map((name) => name.scope)), before[0].slice(1).map(() => "row"));
    // The score of query 2 for key 1 now stands in row 1, column 2; column 2 of Q and column 1 of K made it.
    await td(page, "head.1.scores", 1, 2).hover();
    assert.match(await heading(page), /^head\.1\.scores\[2,1\]/);
    const columns = new Set((await lit(page)).map((name) => name.replace(/\[\d+,/, "[")));
    assert.deepEqual([...columns].sort(), ["head.1.k[1]", "head.1.q[2]"]);
    assert.match(await panel(page), /column 2 of head\.1\.q/);
    await page.getByLabel("row", { exact: true }).check();
    assert.match(await formula.innerText(), /Q₁K₁ᵀ/);
    await close();
    const columnsFirst = await open(written("turned", "cross-attention", "--layout", "columns"));
    assert.ok(await columnsFirst.page.getByLabel("column", { exact: true }).isChecked());
    await td(columnsFirst.page, "head.1.scores", 1, 2).hover();
    assert.match(await heading(columnsFirst.page), /^head\.1\.scores\[2,1\]/);
    await columnsFirst.close();
  },

  async "every number shows where it comes from, and nothing is lit without being said"() {
    const { page, close } = await open(written("telltale", "telltale"));
    const { cells, silent } = await page.evaluate(async () => {
      const silent = [];
      const cells = [...document.querySelectorAll("tbody td")];
      for (const cell of cells) {
        cell.dispatchEvent(new PointerEvent("pointerover", { bubbles: true, pointerType: "mouse" }));
        const text = document.getElementById("derivation").textContent;
        const step = cell.closest("table").dataset.step;
        const sources = new Set([...document.querySelectorAll("td.lit")].map((lit) => lit.closest("table").dataset.step));
        const told = [...document.querySelectorAll("#derivation h3 ~ ul li")].map((item) => item.textContent);
        const given = text.includes("Given by the lesson");
        const ruled = text.includes("hidden: ") && cell.textContent === "\u2212\u221e";
        if (!text.startsWith(step) || (!given && !ruled && sources.size === 0)) silent.push(`${step}: ${text}`);
        for (const source of sources) if (!told.some((item) => item.includes(source))) silent.push(`${step}: ${source}`);
      }
      return { cells: cells.length, silent };
    });
    assert.ok(cells > 300, `${cells} numbers`);
    assert.deepEqual(silent, []);
    await close();
  },

  async "colours follow the system until told otherwise"() {
    const ground = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const { page, close } = await open(written("two"), { colorScheme: "dark" });
    const dark = await ground(page);
    await page.getByLabel("light").check();
    assert.equal(await ground(page), "rgb(255, 255, 255)");
    await page.getByLabel("dark").check();
    assert.equal(await ground(page), dark);
    await page.getByLabel("as the system").check();
    await page.emulateMedia({ colorScheme: "light" });
    assert.equal(await ground(page), "rgb(255, 255, 255)");
    await close();
  },

  async "paper holds the tables and no controls"() {
    const { page, close } = await open(written("two"), { colorScheme: "dark" });
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    for (const gone of ["#controls", "#panel", "nav"]) assert.ok(!(await page.locator(gone).isVisible()), gone);
    assert.ok(await td(page, "output", 3, 4).isVisible());
    await close();
  },

  async "without JavaScript the tables are there"() {
    const { page, close } = await open(written("two"), { javaScriptEnabled: false });
    assert.equal(await page.locator("table").count(), 22);
    assert.equal(await td(page, "head.2.weights", 3, 1).innerText(), "0.3333");
    assert.ok(!(await page.locator("#controls").isVisible()));
    assert.match(await page.locator("noscript").innerText(), /--explain/);
    await close();
  },

  async "text that tries to be more stays text"() {
    const evil = ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "\"' onmouseover='alert(3)\u202e"];
    const text = `${evil.join(" ")} <!-- <style>*{display:none}</style> &lt; \${alert(4)} \u2028`;
    writeFileSync(join(folder, "evil.yaml"), JSON.stringify({
      mha: 1, title: text, summary: text, source: text, tokens: evil,
      attention: { d_model: 2, num_heads: 1 },
      inputs: { x: [[1, 0], [0, 1], [1, 1]] },
      projections: { w_q: "identity", w_k: "identity", w_v: "identity", w_o: "identity" },
      story: [{ at: "head.1.scores", say: text }],
    }).replaceAll("\u2028", "\\u2028"));
    const { page, close } = await open(written("evil", "evil.yaml"));
    assert.equal(await page.locator("img").count(), 0);
    assert.equal(await page.locator("script").count(), 2);
    assert.equal(await page.locator("style").count(), 1);
    assert.match(await page.locator("h1").innerText(), /<img src=x onerror=alert\(1\)> <\/script><script>alert\(2\)/);
    assert.equal(await page.locator("table[data-step='x'] tbody th").first().innerText(), "<img src=x onerror=aler…");
    assert.ok(!(await page.content()).includes("\u202e"));
    await td(page, "head.1.scores", 1, 3).hover();
    const said = await panel(page);
    assert.match(said, /query “<img src=x onerror=aler…”/);
    assert.match(said, /\\u\{202e\}|onmouseover/);
    await close();
  },

  async "a large trace is thinned, and the page stays quick"() {
    writeFileSync(join(folder, "large.yaml"), JSON.stringify({
      mha: 1, title: "large", attention: { d_model: 64, num_heads: 2, mask: "causal" },
      inputs: { x: { random: { seed: 1, shape: [100, 64] } } },
      projections: Object.fromEntries(["w_q", "w_k", "w_v", "w_o"].map((name, seed) => [name, { random: { seed: seed + 2 } }])),
    }));
    const { page, close } = await open(written("large", "large.yaml"));
    const picture = page.locator("[id='head.1.weights'] img:visible");
    assert.equal(await picture.evaluate((image) => image.naturalWidth), 100);
    const last = page.locator("table[data-step='head.2.scores'] tbody tr:last-child td:last-child");
    await last.click();
    assert.match(await heading(page), /^head\.2\.scores\[100,100\]/);
    await page.mouse.move(1, 1); // the table scrolls to its first column, under whatever the mouse points at
    await page.keyboard.press("Home");
    await page.keyboard.press("Escape");
    assert.match(await heading(page).catch(() => ""), /^$/);
    for (let move = 0; move < 20; move++) await page.keyboard.press("ArrowRight");
    assert.match(await heading(page), /^head\.2\.scores\[100,(8[5-9]|9\d)\]/, "over the gap");
    await page.getByLabel("column", { exact: true }).check();
    assert.equal(await page.locator("[id='head.1.weights'] img:visible").count(), 1);
    await close();
  },

  async "axe finds nothing to mend, in light and dark"() {
    for (const colorScheme of ["light", "dark"]) {
      for (const [lesson, width] of [["two-heads", 1300], ["masks", 400]]) {
        const { page, close } = await open(written(`axe-${lesson}`, lesson), { colorScheme, viewport: { width, height: 900 } });
        await td(page, "head.1.weights", 2, 2).click();
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run());
        assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes[0].target} ${v.nodes[0].failureSummary}`), [], colorScheme);
        await close();
      }
    }
  },
};

let failed = 0;
const chosen = process.argv[2] ?? "";
for (const [name, test] of Object.entries(tests).filter(([name]) => name.includes(chosen))) {
  try {
    await test();
    console.log(`ok    ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${error.stack}`);
  }
}
await browser.close();
rmSync(folder, { recursive: true });
console.log(failed ? `${failed} failed` : "all pages behave");
process.exit(failed ? 1 : 0);
