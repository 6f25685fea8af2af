// Package filter is the language in which a search is narrowed to some documents:
//
//	lang = 'en' AND year >= 2020 AND tags IN ['a', 'b'] AND NOT draft = true AND note EXISTS
//
// [Parse] turns such a text into an [Expr]. An Expr matches the values of one document with its
// method Match, which is the definition of the language; index/keyword answers the same question
// for all documents at once from its postings, and is tested against Match.
//
// # Grammar
//
//	or         = and { "OR" and }
//	and        = not { "AND" not }
//	not        = "NOT" not | "(" or ")" | condition
//	condition  = field ( "=" | "!=" ) value
//	           | field ( "<" | "<=" | ">" | ">=" ) ( string | number )
//	           | field [ "NOT" ] "IN" ( "[" [ value { "," value } ] "]" | "(" [ value { "," value } ] ")" )
//	           | field [ "NOT" ] "EXISTS"
//	           | field [ "NOT" ] ( "CONTAINS" | "STARTS" "WITH" ) string
//	           | field [ "NOT" ] "WITHIN" area
//	area       = number ( "m" | "km" | "mi" ) "OF" point
//	           | "BOX" "(" point "," point ")"           the western corner first
//	           | "POLYGON" "(" point "," point "," point { "," point } ")"
//	point      = "(" number "," number ")"               latitude and longitude in degrees
//	field      = name { "." name } | "`" any text "`"
//	name       = letter or "_", then letters, digits, "_" and "-"
//	value      = string | number | "true" | "false"
//	string     = "'" text "'" | '"' text '"'        a quote inside is written twice: 'it''s'
//
// Keywords are understood in any case; NOT binds tighter than AND, AND tighter than OR. A text has
// at most [MaxLength] bytes, is nested at most [MaxDepth] deep and lists at most [MaxList] values
// after IN.
//
// # Meaning
//
// A field of a document holds any number of values, each a string, a number, a boolean, a date, a
// point, or [Present], which only EXISTS sees.
//   - A condition holds if it holds for at least one value of the field.
//   - != is the negation of =, so it also holds where the field is missing; NOT IN likewise.
//   - CONTAINS and STARTS WITH hold for a string with this part, in upper or lower case, within its
//     first [MaxString] bytes.
//   - IN [] holds for no document, NOT IN [] for all.
//   - Values of different kinds are never equal and never ordered: year = '2020' does not match the
//     number 2020.
//   - Integers of less than 2^64 are exact, negative ones too; other numbers are float64.
//   - A string that reads as YYYY-MM-DD (midnight UTC), or as that with a time of day as RFC 3339,
//     Python or SQL write it (UTC without an offset), is also a date, to the microsecond. If the
//     filter names a date, dates are compared; otherwise strings are, byte by byte.
//   - Strings longer than [MaxString] bytes are compared by their first MaxString bytes and a hash
//     of the whole.
//   - WITHIN holds for a point in the area, see package geo, whose [geo.Of] says which objects of a
//     document are points. No other condition but EXISTS holds for a point.
//   - EXISTS holds if the field has a value; null, an empty list and an object that is no point are
//     no values.
//   - After [WithID] the conditions =, !=, IN and NOT IN of id and _id hold for the id of a
//     document that has no value of that field.
package filter
