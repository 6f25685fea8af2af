// The requests of the page, without anything of the browser, so that they can be tested alone.

/** Returns a filter from the values that a visitor has chosen: {brand: Set(["Ovis"])}. */
export function filter(chosen) {
  const quote = (value) => "'" + value.replaceAll("'", "''") + "'";
  return Object.entries(chosen)
    .filter(([, values]) => values.size > 0)
    .map(([field, values]) => `${field} IN [${[...values].map(quote).join(", ")}]`)
    .join(" AND ");
}

/** Searches the products and returns the server's answer; a problem becomes an Error. */
export async function search(base, q, chosen, signal) {
  const response = await fetch(base + "/v1/collections/products/search", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ q, unfinished: true, filter: filter(chosen), facets: ["category", "brand"], limit: 12 }),
    signal,
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail || answer.title);
  return answer;
}
