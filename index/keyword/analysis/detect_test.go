package analysis

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The first article of the Universal Declaration of Human Rights; in Turkish, where it has few stop
// words, another text.
var firstArticle = map[string]string{
	"ar":         "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا وعليهم أن يعامل بعضهم بعضا بروح الإخاء.",
	"cjk":        "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。",
	"da":         "Alle mennesker er født frie og lige i værdighed og rettigheder. De er udstyret med fornuft og samvittighed, og de bør handle mod hverandre i en broderskabets ånd.",
	"de":         "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt und sollen einander im Geiste der Brüderlichkeit begegnen.",
	"en":         "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and should act towards one another in a spirit of brotherhood.",
	"es":         "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y conciencia, deben comportarse fraternalmente los unos con los otros.",
	"fa":         "تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند. همه دارای عقل و وجدان هستند و باید نسبت به یکدیگر با روح برادری رفتار کنند.",
	"fi":         "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä.",
	"fr":         "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de conscience et doivent agir les uns envers les autres dans un esprit de fraternité.",
	"hi":         "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए।",
	"hu":         "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek, ésszel és lelkiismerettel bírván, egymással szemben testvéri szellemben kell hogy viseltessenek.",
	"it":         "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione e di coscienza e devono agire gli uni verso gli altri in spirito di fratellanza.",
	"nl":         "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand en geweten, en behoren zich jegens elkander in een geest van broederschap te gedragen.",
	"no":         "Alle mennesker er født frie og med samme menneskeverd og menneskerettigheter. De er utstyrt med fornuft og samvittighet og bør handle mot hverandre i brorskapets ånd.",
	"pt":         "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de consciência, devem agir uns para com os outros em espírito de fraternidade.",
	"ro":         "Toate ființele umane se nasc libere și egale în demnitate și în drepturi. Ele sunt înzestrate cu rațiune și conștiință și trebuie să se comporte unele față de altele în spiritul fraternității.",
	"ru":         "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и должны поступать в отношении друг друга в духе братства.",
	"sv":         "Alla människor är födda fria och lika i värde och rättigheter. De är utrustade med förnuft och samvete och bör handla gentemot varandra i en anda av broderskap.",
	"tr":         "Bu kitap bana göre çok güzel, ama daha önce hiç böyle bir şey okumadım. Her gün birkaç sayfa okuyorum ve sonra ne olacak diye merak ediyorum, çünkü bu benim için yeni.",
	"standard":   "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
	"standard/2": "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím a mají spolu jednat v duchu bratrství.",
	"standard/3": "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю і повинні діяти у відношенні один до одного в дусі братерства.",
	"standard/4": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα αδελφοσύνης.",
	"cjk/2":      "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
	"cjk/3":      "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다.",
}

func TestDetect(t *testing.T) {
	for want, text := range firstArticle {
		want, _, _ = strings.Cut(want, "/")
		if got := detect(strings.Repeat(text+"\n", 3)); got != want {
			t.Errorf("detect of %q = %q, want %q", text[:40], got, want)
		}
	}
	for _, text := range []string{
		"", "und", "Zürich Köln München", // too little
		firstArticle["de"][:60],
		strings.Repeat("func (x *index) add(id uint32, v []float32) error { return x.graph.insert(id, v) }\n", 20),
		strings.Repeat("num ", 100) + strings.Repeat("phosphorus impairs function ", 100), // one word of Portuguese, again and again
	} {
		if got := detect(text); got != "" {
			t.Errorf("detect of %.60q = %q, want no answer", text, got)
		}
	}
	for want := range firstArticle {
		want, _, _ = strings.Cut(want, "/")
		if !slices.Contains(Languages(), want) {
			t.Errorf("%q is none of Languages", want)
		}
	}
}

// Hashes and other codes are full of short words of some language.
func TestDetectCodes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, code := range map[string]func() string{
		"UUIDs": func() string {
			return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", random.Uint32(), random.IntN(1<<16), random.IntN(1<<16), random.IntN(1<<16), random.Uint64N(1<<48))
		},
		"hashes": func() string { return fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64()) },
		"base64": func() string {
			return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, random.Uint64()), random.Uint64()))
		},
	} {
		var b strings.Builder
		for range 500 {
			b.WriteString(code() + "\n")
		}
		if got := detect(b.String()); got != "" {
			t.Errorf("detect of %s = %q, want no answer", name, got)
		}
	}
}
