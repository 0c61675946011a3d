// SPDX-License-Identifier: MIT

// `run` appends this to a copy of Package.swift.

/// The modules that targets import on Apple platforms.
let appleModules = [
    "PulsePlatform": ["CryptoKit"], "PulsePlugins": ["Compression", "Security"], "PulseObservability": ["Combine"],
    "PulseStorage": ["Network", "Security"],
    "PulseModels": ["Combine", "SwiftUI"], "PulseUI": ["Combine", "SwiftUI", "UIKit"],
]
let runTests = ["PulseModelsTests", "PulseUITests", "PulsePlatformTests", "PulsePluginsTests"]

package.dependencies += [
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.0.0"),
]
package.products = []
package.targets.removeAll { target in
    target.type == .executable || target.type == .test && !runTests.contains(target.name)
}
for target in package.targets {
    target.dependencies += (appleModules[target.name] ?? []).map { .target(name: $0) }
}
package.targets += [
    .target(
        name: "Combine", dependencies: [.product(name: "OpenCombine", package: "OpenCombine")],
        path: "StandIns/Combine"),
    .target(
        name: "CryptoKit", dependencies: [.product(name: "Crypto", package: "swift-crypto")], path: "StandIns/CryptoKit"
    ),
    .target(name: "Compression", dependencies: ["PulsePlatform"], path: "StandIns/Compression"),
    .target(name: "UIKit", path: "StandIns/UIKit"),
    .target(name: "Security", path: "StandIns/Security", swiftSettings: [.swiftLanguageMode(.v5)]),
    .target(
        name: "Network", dependencies: ["Security"], path: "StandIns/Network",
        swiftSettings: [.swiftLanguageMode(.v5)]),
    .target(
        name: "SwiftUI", dependencies: ["Combine", "UIKit"], path: "StandIns/SwiftUI",
        swiftSettings: [.swiftLanguageMode(.v5)]),
    .testTarget(
        name: "FrameworkTests",
        dependencies: ["PulseKit", "PulsePlatform", "PulseTesting", "TestSupport", "Network", "Security"]),
    .testTarget(name: "PublisherTests", dependencies: ["PulseKit", "PulseTesting", "Combine"]),
    .testTarget(
        name: "ScreenTests",
        dependencies: ["PulseKit", "PulseUI", "PulseTesting", "TestSupport", "Combine", "SwiftUI", "UIKit"]),
]
